// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_MACHINE_NATIVEONEDNN_H
#define SHOAL_MACHINE_NATIVEONEDNN_H

#include "shoal/Machine/OneDNN.h"

namespace shoal {

/// What this build has oneDNN for on the CPU of this process, by the features
/// that code is generated with: f32 where there is AVX-512, which a BLAS may
/// not know of, bf16 where that has products of pairs. Not f16: what oneDNN 2
/// has for it is no unit's.
OneDNN nativeOneDNN();

} // namespace shoal

#endif // SHOAL_MACHINE_NATIVEONEDNN_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_CONVERSION_KERNELS_TILEBYTES_H
#define SHOAL_CONVERSION_KERNELS_TILEBYTES_H

#include "llvm/ADT/StringRef.h"

namespace shoal {

/// Of loops over tiles that threads may share, and of the function of a range
/// of them: what a tile costs, as the bytes that take as long to move.
inline constexpr llvm::StringLiteral kTileBytesAttr = "shoal.tile_bytes";

} // namespace shoal

#endif // SHOAL_CONVERSION_KERNELS_TILEBYTES_H

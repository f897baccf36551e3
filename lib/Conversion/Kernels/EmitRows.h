// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_CONVERSION_KERNELS_EMITROWS_H
#define SHOAL_LIB_CONVERSION_KERNELS_EMITROWS_H

#include "../Device/RowGroup.h"
#include "KernelEmitter.h"

namespace shoal {

/// Writes the kernel of a group, `emitters` those of its phases. A row's
/// threads run phase by phase through its columns; what a phase hands to a
/// later one stays in registers, and of what is written more than once the last
/// value alone goes to memory. Only reductions make threads wait for each
/// other.
void emitRows(const RowGroup &group,
              llvm::ArrayRef<std::unique_ptr<KernelEmitter>> emitters);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_EMITROWS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What buffers hold where most is live.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_HELDATPEAK_H
#define SHOAL_LIB_CONVERSION_MEMORY_HELDATPEAK_H

#include "BufferLives.h"
#include "shoal/Conversion/Memory/MemoryPlan.h"

namespace shoal {

/// Of the buffers that are live where most is, the largest first, at most
/// MemoryPlan::kMostHeld.
llvm::SmallVector<MemoryPlan::Held>
findHeldAtPeak(llvm::ArrayRef<Buffer> buffers, mlir::func::FuncOp func,
               const Places &places);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_HELDATPEAK_H

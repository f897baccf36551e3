// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The op interfaces through which the interpreter asks an op for its meaning.

#ifndef SHOAL_REFERENCE_REFERENCEINTERFACE_H
#define SHOAL_REFERENCE_REFERENCEINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "shoal/Reference/Tensor.h"

namespace shoal::reference {

/// One value of a per-device program: element d is what device d holds.
using GridValue = std::vector<Tensor>;

/// Results of an op on one device, and on all devices.
using Tensors = llvm::SmallVector<Tensor, 1>;
using GridValues = llvm::SmallVector<GridValue, 1>;

/// Runs a region of the op being run on these arguments and returns what its
/// terminator has as operands. The arguments hold a tensor for each device that
/// the region is to run on.
using RunRegion = llvm::function_ref<llvm::FailureOr<GridValues>(
    mlir::Region &region, llvm::ArrayRef<GridValue> arguments,
    int64_t numDevices)>;

} // namespace shoal::reference

#include "shoal/Reference/ReferenceInterface.h.inc"

#endif // SHOAL_REFERENCE_REFERENCEINTERFACE_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the memory of a step holds, before there are buffers.

#ifndef SHOAL_LIB_CONVERSION_UTILS_HELDVALUES_H
#define SHOAL_LIB_CONVERSION_UTILS_HELDVALUES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"

namespace shoal {

/// Of a ranked tensor of static shape; 0 of all else.
inline int64_t bytesOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? sizeInBytes(type) : 0;
}

/// Whether it is an argument of a function that the caller gives away.
inline bool isDonated(mlir::BlockArgument argument) {
  auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(
      argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(), kDonatedAttr);
}

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_UTILS_HELDVALUES_H

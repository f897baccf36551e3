// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_REFERENCE_GRIDMODEL_H
#define SHOAL_LIB_REFERENCE_GRIDMODEL_H

#include "Models.h"
#include "shoal/Reference/DeviceGrid.h"

namespace shoal::reference {

/// The model of a collective whose devices are those of its mesh; `evaluateFn`
/// of (op, grid, operands) gives its result, or fails.
template <typename Op, auto evaluateFn>
struct GridModel
    : GridOpInterface::ExternalModel<GridModel<Op, evaluateFn>, Op> {
  mlir::FailureOr<GridValues>
  evaluateOnGrid(mlir::Operation *op, int64_t numDevices,
                 llvm::ArrayRef<GridValue> operands) const {
    auto typed = mlir::cast<Op>(op);
    mlir::FailureOr<DeviceGrid> grid =
        DeviceGrid::lookUp(op, typed.getMeshAttr(), numDevices);
    if (failed(grid))
      return mlir::failure();
    mlir::FailureOr<GridValue> result = evaluateFn(typed, *grid, operands);
    if (failed(result))
      return mlir::failure();
    return GridValues{*result};
  }
};

template <typename Op, auto evaluateFn>
void attachGrid(mlir::MLIRContext *context) {
  Op::template attachInterface<GridModel<Op, evaluateFn>>(*context);
}

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_GRIDMODEL_H

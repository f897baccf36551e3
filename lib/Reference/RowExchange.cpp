// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowExchange.h"
#include "Models.h"
#include "StridedView.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal::spmd;

namespace shoal::reference {

/// Row `row` of dimension `dim`, all of the others.
static StridedView rowOf(const Tensor &tensor, int64_t dim, int64_t row) {
  StridedView view = StridedView::whole(tensor.getShape());
  view.base = row * view.strides[dim];
  view.shape[dim] = 1;
  return view;
}

GridValue evaluateHaloExchange(HaloExchangeOp op, const DeviceGrid &grid,
                               ArrayRef<GridValue> operands) {
  DeviceGrid::Digits digits = grid.digitsOf(op.getAxes().getAxes());
  RowWindow window = op.getWindow();
  int64_t dim = op.getDim();
  GridValue results;
  for (int64_t device = 0; device < grid.numDevices(); ++device) {
    int64_t position = grid.positionOf(device);
    int64_t index = DeviceGrid::indexOver(digits, position);
    int64_t first = llvm::divideFloorSigned(window.step * index + window.offset,
                                            window.divisor);
    Tensor result = Tensor::unspecified(resultType(op));
    for (int64_t row = 0; row < result.getShape()[dim]; ++row) {
      int64_t place = first + row;
      if (place < 0 || place >= op.getNumRows())
        continue;
      int64_t block = operands[0][0].getShape()[dim];
      int64_t owner =
          grid.deviceAt(DeviceGrid::withIndex(digits, position, place / block));
      const Tensor &source = operands[0][owner];
      scatter(gather(source, rowOf(source, dim, place % block)),
              rowOf(result, dim, row), result);
    }
    results.push_back(std::move(result));
  }
  return results;
}

FailureOr<GridValue> evaluateExchange(ExchangeOp op, const DeviceGrid &source,
                                      ArrayRef<GridValue> operands) {
  FailureOr<DeviceGrid> target =
      DeviceGrid::lookUp(op, op.getTargetMeshAttr(), source.numDevices());
  if (failed(target))
    return failure();
  SmallVector<DeviceGrid::Digits> from, to;
  for (AxesAttr axes : op.getSourceAxes().getAsRange<AxesAttr>())
    from.push_back(source.digitsOf(axes.getAxes()));
  for (AxesAttr axes : op.getTargetAxes().getAsRange<AxesAttr>())
    to.push_back(target->digitsOf(axes.getAxes()));

  GridValue results;
  for (int64_t device = 0; device < source.numDevices(); ++device) {
    Tensor result = Tensor::unspecified(resultType(op));
    ArrayRef<int64_t> shape = result.getShape();
    ArrayRef<int64_t> block = operands[0][0].getShape();
    auto strides = rowMajorStrides(block), places = rowMajorStrides(shape);
    forEachPlace(StridedView::whole(shape), [&](int64_t place) {
      int64_t owner = source.positionOf(device), element = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        int64_t index =
            DeviceGrid::indexOver(to[d], target->positionOf(device));
        int64_t row = index * shape[d] + place / places[d] % shape[d];
        if (row >= op.getShape()[d])
          return;
        owner = DeviceGrid::withIndex(from[d], owner, row / block[d]);
        element += row % block[d] * strides[d];
      }
      result.getMutableElements()[place] =
          operands[0][source.deviceAt(owner)][element];
    });
    results.push_back(std::move(result));
  }
  return results;
}

} // namespace shoal::reference

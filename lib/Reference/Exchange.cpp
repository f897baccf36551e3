// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Exchange.h"
#include "StridedView.h"

namespace shoal::reference {

namespace {
/// Computes one device's result.
struct Receiver {
  const DeviceGrid &grid;
  llvm::ArrayRef<DimExchange> dims;
  const GridValue &input;
  int64_t position;
  Tensor result;
  StridedView shard = StridedView::whole(input[0].getShape());

  /// Where row `row` of dimension `d` is in the shards put together.
  int64_t placeOf(int64_t d, int64_t row) const {
    return DeviceGrid::indexOver(dims[d].split, position) *
               result.getShape()[d] +
           row;
  }

  /// Goes through the dimensions from `d` on, taking from one shard as many
  /// rows at a time as it has. Behind the last dimension the device that sends
  /// is known, and `from` and `to` have shrunk to the block that it sends.
  void receive(int64_t d, int64_t source, const StridedView &from,
               const StridedView &to) {
    if (d == result.getType().rank()) {
      copy(input[grid.deviceAt(source)], from, to);
      return;
    }
    int64_t shardRows = input[0].getShape()[d];
    int64_t numShards = DeviceGrid::sizeOf(dims[d].gathered);
    int64_t rows = result.getShape()[d];
    for (int64_t row = 0; row < rows;) {
      int64_t place = placeOf(d, row);
      int64_t index = shardRows ? place / shardRows : numShards;
      if (index >= numShards)
        return; // past the end
      int64_t first = place % shardRows;
      int64_t count = std::min(shardRows - first, rows - row);
      StridedView nextFrom = from, nextTo = to;
      nextFrom.base += first * shard.strides[d];
      nextFrom.shape[d] = count;
      nextTo.base += row * to.strides[d];
      nextTo.shape[d] = count;
      receive(d + 1, DeviceGrid::withIndex(dims[d].gathered, source, index),
              nextFrom, nextTo);
      row += count;
    }
  }

  void copy(const Tensor &source, const StridedView &from,
            const StridedView &to) {
    scatter(gather(source, from), to, result);
  }
};
} // namespace

GridValue exchange(const DeviceGrid &grid, llvm::ArrayRef<DimExchange> dims,
                   const GridValue &input, const TensorType &resultType) {
  GridValue results;
  for (int64_t device = 0; device < grid.numDevices(); ++device) {
    int64_t position = grid.positionOf(device);
    Receiver receiver{grid, dims, input, position,
                      Tensor::unspecified(resultType)};
    receiver.receive(0, position, StridedView::whole(input[0].getShape()),
                     StridedView::whole(resultType.shape));
    results.push_back(std::move(receiver.result));
  }
  return results;
}

} // namespace shoal::reference

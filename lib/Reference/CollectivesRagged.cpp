// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ragged_all_to_all: slices of rows whose sizes are values.

#include "GridModel.h"
#include "Models.h"
#include "StridedView.h"

#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Reference/DeviceGrid.h"

using namespace mlir;
using shoal::spmd::RaggedAllToAllOp;

namespace shoal::reference {

namespace {

class RaggedExchange {
public:
  RaggedExchange(RaggedAllToAllOp op, const DeviceGrid &grid,
                 ArrayRef<GridValue> operands)
      : op(op), grid(grid), digits(grid.digitsOf(op.getAxes().getAxes())),
        p(DeviceGrid::sizeOf(digits)), input(operands[0]), output(operands[1]),
        from(operands[2]), sent(operands[3]), to(operands[4]),
        received(operands[5]) {}

  FailureOr<GridValue> run() {
    GridValue results(grid.numDevices());
    for (int64_t position = 0; position < grid.numDevices(); ++position)
      if (failed(receive(position, results[grid.deviceAt(position)])))
        return failure();
    return results;
  }

private:
  /// Slice j that `sender` sends to the device with index `target`.
  struct Slice {
    int64_t sender, entry, from, rows, to;
  };

  LogicalResult receive(int64_t position, Tensor &result);
  LogicalResult verify(const Slice &slice, int64_t device, int64_t entry) const;
  InFlightDiagnostic error(int64_t device) const {
    return op->emitError() << "device " << device << ": ";
  }

  RaggedAllToAllOp op;
  const DeviceGrid &grid;
  DeviceGrid::Digits digits;
  int64_t p;
  const GridValue &input, &output, &from, &sent, &to, &received;
};

/// Whether `rows` rows from `begin` on are some of `all`.
bool areRows(int64_t begin, int64_t rows, int64_t all) {
  return rows == 0 || (rows > 0 && begin >= 0 && rows <= all - begin);
}

StridedView rowsOf(const Tensor &tensor, int64_t begin, int64_t rows) {
  StridedView view = StridedView::whole(tensor.getShape());
  view.base = begin * view.strides[0];
  view.shape[0] = rows;
  return view;
}

} // namespace

LogicalResult RaggedExchange::verify(const Slice &slice, int64_t device,
                                     int64_t entry) const {
  int64_t rows = input[0].getShape()[0], room = output[0].getShape()[0];
  if (!areRows(slice.from, slice.rows, rows))
    return error(slice.sender)
           << "input_offsets[" << slice.entry << "] " << slice.from
           << ", send_sizes[" << slice.entry << "] " << slice.rows
           << ": these are not rows of the " << rows << " of the input";
  if (!areRows(slice.to, slice.rows, room))
    return error(slice.sender)
           << "output_offsets[" << slice.entry << "] " << slice.to
           << ", send_sizes[" << slice.entry << "] " << slice.rows
           << ": these are not rows of the " << room << " of the output";
  int64_t expected = received[device][entry].i;
  if (expected != slice.rows)
    return error(device) << "recv_sizes[" << entry << "] " << expected
                         << ": device " << slice.sender << " sends "
                         << slice.rows;
  return success();
}

LogicalResult RaggedExchange::receive(int64_t position, Tensor &result) {
  int64_t device = grid.deviceAt(position);
  int64_t index = DeviceGrid::indexOver(digits, position);
  int64_t slices = sent[0].getNumElements() / p;
  result = output[device];
  // Who has sent each row.
  std::vector<int64_t> senders(result.getShape()[0], -1);
  for (int64_t s = 0; s < p; ++s)
    for (int64_t j = 0; j < slices; ++j) {
      int64_t sender =
          grid.deviceAt(DeviceGrid::withIndex(digits, position, s));
      int64_t entry = index * slices + j;
      Slice slice{sender, entry, from[sender][entry].i, sent[sender][entry].i,
                  to[sender][entry].i};
      if (failed(verify(slice, device, s * slices + j)))
        return failure();
      for (int64_t row = slice.to; row < slice.to + slice.rows; ++row) {
        if (senders[row] != -1)
          return error(device)
                 << "row " << row << " of the output is sent by "
                 << "device " << senders[row] << " and by device " << sender;
        senders[row] = sender;
      }
      if (slice.rows != 0)
        scatter(gather(input[sender],
                       rowsOf(input[sender], slice.from, slice.rows)),
                rowsOf(result, slice.to, slice.rows), result);
    }
  return success();
}

static FailureOr<GridValue> evaluateRagged(RaggedAllToAllOp op,
                                           const DeviceGrid &grid,
                                           ArrayRef<GridValue> operands) {
  return RaggedExchange(op, grid, operands).run();
}

void registerCollectivesRaggedModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, spmd::SpmdDialect *) {
    attachGrid<RaggedAllToAllOp, evaluateRagged>(context);
  });
}

} // namespace shoal::reference

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "StridedView.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;

namespace shoal::reference {

static FailureOr<Tensors> evaluateBroadcast(BroadcastInDimOp op,
                                            ArrayRef<Tensor> operands) {
  ArrayRef<int64_t> shape = operands[0].getShape();
  SmallVector<int64_t, 4> strides = rowMajorStrides(shape);
  StridedView view;
  view.shape = resultType(op).shape;
  view.strides.assign(view.shape.size(), 0);
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    view.strides[dim] = shape[i] == 1 ? 0 : strides[i];
  return Tensors{gather(operands[0], view)};
}

static FailureOr<Tensors> evaluateTranspose(TransposeOp op,
                                            ArrayRef<Tensor> operands) {
  StridedView input = StridedView::whole(operands[0].getShape());
  return Tensors{gather(operands[0], input.select(op.getPermutation()))};
}

static FailureOr<Tensors> evaluateIota(IotaOp op, ArrayRef<Tensor>) {
  TensorType type = resultType(op);
  Tensor line(type.withShape(type.shape[op.getDim()]));
  for (auto [i, element] : llvm::enumerate(line.getMutableElements()))
    element = makeScalar(type.element, i);
  StridedView view;
  view.shape = type.shape;
  view.strides.assign(type.rank(), 0);
  view.strides[op.getDim()] = 1;
  return Tensors{gather(line, view)};
}

static FailureOr<Tensors> evaluateSlice(SliceOp op, ArrayRef<Tensor> operands) {
  StridedView view = StridedView::whole(operands[0].getShape());
  view.shape = resultType(op).shape;
  for (auto [d, stride] : llvm::enumerate(view.strides)) {
    view.base += op.getStarts()[d] * stride;
    stride *= op.getStrides()[d];
  }
  return Tensors{gather(operands[0], view)};
}

static FailureOr<Tensors> evaluatePad(PadOp op, ArrayRef<Tensor> operands) {
  Tensor result(resultType(op));
  llvm::fill(result.getMutableElements(), operands[1][0]);
  StridedView from = StridedView::whole(operands[0].getShape());
  StridedView to = StridedView::whole(result.getShape());
  for (size_t d = 0; d < to.strides.size(); ++d) {
    auto [begin, end, place] = op.getKept(d);
    from.shape[d] = to.shape[d] = end - begin;
    from.base += begin * from.strides[d];
    to.base += place * to.strides[d];
    to.strides[d] *= op.getInterior()[d] + 1;
  }
  scatter(gather(operands[0], from), to, result);
  return Tensors{result};
}

static FailureOr<Tensors> evaluateReverse(ReverseOp op,
                                          ArrayRef<Tensor> operands) {
  StridedView view = StridedView::whole(operands[0].getShape());
  for (int64_t d : op.getDims()) {
    view.base += (view.shape[d] - 1) * view.strides[d];
    view.strides[d] = -view.strides[d];
  }
  return Tensors{gather(operands[0], view)};
}

static FailureOr<Tensors> evaluateRoll(RollOp op, ArrayRef<Tensor> operands) {
  Tensor result(resultType(op));
  int64_t dim = op.getDim(), size = result.getShape()[dim];
  for (int64_t row = 0; row < size; ++row) {
    StridedView from = StridedView::whole(result.getShape());
    from.shape[dim] = 1;
    StridedView to = from;
    from.base += row * from.strides[dim];
    to.base += (row + int64_t(op.getShift())) % size * to.strides[dim];
    scatter(gather(operands[0], from), to, result);
  }
  return Tensors{result};
}

static FailureOr<Tensors> evaluateConcatenate(ConcatenateOp op,
                                              ArrayRef<Tensor> operands) {
  Tensor result(resultType(op));
  StridedView view = StridedView::whole(result.getShape());
  for (const Tensor &operand : operands) {
    view.shape = operand.getType().shape;
    scatter(operand, view, result);
    view.base += view.shape[op.getDim()] * view.strides[op.getDim()];
  }
  return Tensors{result};
}

void registerStructureModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<BroadcastInDimOp, evaluateBroadcast>(context);
    attach<TransposeOp, evaluateTranspose>(context);
    attach<IotaOp, evaluateIota>(context);
    attach<SliceOp, evaluateSlice>(context);
    attach<PadOp, evaluatePad>(context);
    attach<ReverseOp, evaluateReverse>(context);
    attach<RollOp, evaluateRoll>(context);
    attach<ConcatenateOp, evaluateConcatenate>(context);
  });
}

} // namespace shoal::reference

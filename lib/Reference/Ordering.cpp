// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// sort, reduce_region and bitcast_convert.

#include "Models.h"
#include "ScalarRegion.h"
#include "StridedView.h"

#include "shoal/Dialect/Shoal/IR/ElementwiseOps.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include <cmath>
#include <numeric>

using namespace mlir;

namespace shoal::reference {

//===----------------------------------------------------------------------===//
// Sort
//===----------------------------------------------------------------------===//

/// Whether a comes before b in ascending order: NaN last, the zeros equal.
static bool isBefore(ElementType type, Scalar a, Scalar b) {
  if (type == ElementType::I1)
    return asUnsigned(type, a.i) < asUnsigned(type, b.i);
  if (!isFloat(type))
    return a.i < b.i;
  return a.f < b.f || (std::isnan(b.f) && !std::isnan(a.f));
}

namespace {
/// One line of all keys, whose elements are `stride` apart.
struct KeyLine {
  ArrayRef<Tensor> keys;
  bool descending;
  int64_t start, stride;

  /// By index along the line; equal elements in the order of their indices.
  bool operator()(int64_t a, int64_t b) const {
    for (const Tensor &key : keys) {
      Scalar x = key[start + a * stride], y = key[start + b * stride];
      if (isBefore(key.getElementType(), x, y))
        return !descending;
      if (isBefore(key.getElementType(), y, x))
        return descending;
    }
    return a < b;
  }
};
} // namespace

static FailureOr<Tensors> evaluateSort(SortOp op, ArrayRef<Tensor> operands) {
  Tensors results;
  for (const Tensor &operand : operands)
    results.push_back(Tensor(operand.getType()));
  StridedView view = StridedView::whole(operands[0].getShape());
  int64_t size = view.shape[op.getDim()], stride = view.strides[op.getDim()];
  view.shape[op.getDim()] = std::min<int64_t>(size, 1);
  std::vector<int64_t> order(size);
  ArrayRef<Tensor> keys = operands.take_front(op.getNumKeys());
  forEachPlace(view, [&](int64_t start) {
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, KeyLine{keys, op.getDescending(), start, stride});
    for (auto [operand, result] : llvm::zip_equal(operands, results)) {
      MutableArrayRef<Scalar> target = result.getMutableElements();
      for (int64_t i = 0; i < size; ++i)
        target[start + i * stride] = operand[start + order[i] * stride];
    }
  });
  return results;
}

//===----------------------------------------------------------------------===//
// Reduction by a region
//===----------------------------------------------------------------------===//

static FailureOr<Tensors> evaluateReduceRegion(ReduceRegionOp op,
                                               ArrayRef<Tensor> operands) {
  size_t count = op.getInputs().size();
  ArrayRef<Tensor> inputs = operands.take_front(count);
  ArrayRef<Tensor> inits = operands.drop_front(count);
  StridedView view = StridedView::whole(inputs[0].getShape());
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d < inputs[0].getType().rank(); ++d)
    if (!llvm::is_contained(op.getDims(), d))
      kept.push_back(d);
  StridedView outer = view.select(kept), inner = view.select(op.getDims());
  ScalarRegion combine(op.getCombiner().front());
  Tensors results;
  for (size_t i = 0; i < count; ++i)
    results.push_back(Tensor(resultType(op, i)));
  int64_t target = 0;
  bool hasFailed = false;
  forEachPlace(outer, [&](int64_t place) {
    inner.base = place;
    SmallVector<Scalar> state;
    for (const Tensor &init : inits)
      state.push_back(init[0]);
    forEachPlace(inner, [&](int64_t element) {
      if (hasFailed)
        return;
      SmallVector<Scalar> arguments(state);
      for (const Tensor &input : inputs)
        arguments.push_back(input[element]);
      FailureOr<SmallVector<Scalar>> combined = combine(arguments);
      hasFailed = failed(combined);
      if (!hasFailed)
        state = *combined;
    });
    for (auto [result, value] : llvm::zip_equal(results, state))
      result.getMutableElements()[target] = value;
    ++target;
  });
  if (hasFailed)
    return failure();
  return results;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static FailureOr<Tensors> evaluateBitcastConvert(BitcastConvertOp op,
                                                 ArrayRef<Tensor> operands) {
  return Tensors{Tensor::fromBytes(resultType(op), operands[0].toBytes())};
}

void registerOrderingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<SortOp, evaluateSort>(context);
    attach<ReduceRegionOp, evaluateReduceRegion>(context);
    attach<BitcastConvertOp, evaluateBitcastConvert>(context);
  });
}

} // namespace shoal::reference

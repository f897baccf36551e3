// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Models.h"
#include "ScalarRegion.h"
#include "StridedView.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"

using namespace mlir;

namespace shoal::reference {

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

static FailureOr<Tensors> evaluateReduce(ReduceOp op,
                                         ArrayRef<Tensor> operands) {
  Tensor result(resultType(op));
  StridedView input = StridedView::whole(operands[0].getShape());
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d < operands[0].getType().rank(); ++d)
    if (!llvm::is_contained(op.getDims(), d))
      kept.push_back(d);
  StridedView outer = input.select(kept), inner = input.select(op.getDims());
  Combiner combiner(op.getKind(), result.getElementType());
  Scalar *target = result.getMutableElements().data();
  forEachPlace(outer, [&](int64_t place) {
    inner.base = place;
    Scalar accumulated = combiner.identity();
    forEachPlace(inner, [&](int64_t element) {
      accumulated = combiner.combine(accumulated, operands[0][element]);
    });
    *target++ = combiner.finish(accumulated);
  });
  return Tensors{result};
}

//===----------------------------------------------------------------------===//
// Cumulative
//===----------------------------------------------------------------------===//

/// The view without dimension `dim`: where the lines along it begin.
static StridedView lineStarts(const StridedView &view, int64_t dim) {
  SmallVector<int64_t> others;
  for (int64_t d = 0; d < static_cast<int64_t>(view.shape.size()); ++d)
    if (d != dim)
      others.push_back(d);
  return view.select(others);
}

static FailureOr<Tensors> evaluateCumulative(CumulativeOp op,
                                             ArrayRef<Tensor> operands) {
  const Tensor &input = operands[0];
  Tensor result(input.getType());
  MutableArrayRef<Scalar> target = result.getMutableElements();
  StridedView view = StridedView::whole(input.getShape());
  int64_t size = view.shape[op.getDim()], stride = view.strides[op.getDim()];
  Combiner combiner(op.getKind(), input.getElementType());
  forEachPlace(lineStarts(view, op.getDim()), [&](int64_t start) {
    Scalar accumulated = combiner.identity();
    for (int64_t i = 0; i < size; ++i) {
      int64_t place = start + (op.getReverse() ? size - 1 - i : i) * stride;
      Scalar before = accumulated;
      accumulated = combiner.combine(accumulated, input[place]);
      target[place] = combiner.finish(op.getExclusive() ? before : accumulated);
    }
  });
  return Tensors{result};
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

void registerReductionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<ReduceOp, evaluateReduce>(context);
    attach<CumulativeOp, evaluateCumulative>(context);
    attach<ReduceRegionOp, evaluateReduceRegion>(context);
  });
}

} // namespace shoal::reference

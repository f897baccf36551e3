// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Models.h"
#include "StridedView.h"

#include <cmath>

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
// Top k
//===----------------------------------------------------------------------===//

/// Whether a stands before b: NaN first, then descending. True counts as larger
/// than false.
static bool isLarger(ElementType type, Scalar a, Scalar b) {
  if (!isFloat(type))
    return a.i > b.i;
  if (std::isnan(a.f) || std::isnan(b.f))
    return std::isnan(a.f) && !std::isnan(b.f);
  return a.f > b.f;
}

static FailureOr<Tensors> evaluateTopK(TopKOp op, ArrayRef<Tensor> operands) {
  const Tensor &input = operands[0];
  Tensor values(resultType(op, 0)), places(resultType(op, 1));
  int64_t size = input.getShape().back(), k = op.getK();
  int64_t lines = size ? input.getNumElements() / size : 0;
  MutableArrayRef<Scalar> value = values.getMutableElements();
  MutableArrayRef<Scalar> place = places.getMutableElements();
  std::vector<int64_t> order(size);
  for (int64_t line = 0; line < lines; ++line) {
    ArrayRef<Scalar> row = input.getElements().slice(line * size, size);
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](int64_t a, int64_t b) {
      if (isLarger(input.getElementType(), row[a], row[b]))
        return true;
      return !isLarger(input.getElementType(), row[b], row[a]) && a < b;
    });
    for (int64_t j = 0; j < k; ++j) {
      value[line * k + j] = row[order[j]];
      place[line * k + j].i = wrapTo(places.getElementType(), order[j]);
    }
  }
  return Tensors{values, places};
}

void registerReductionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<ReduceOp, evaluateReduce>(context);
    attach<CumulativeOp, evaluateCumulative>(context);
    attach<TopKOp, evaluateTopK>(context);
  });
}

} // namespace shoal::reference

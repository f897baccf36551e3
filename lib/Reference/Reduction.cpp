// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "CombinerRegion.h"
#include "Models.h"
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

/// Rows [begin, begin + count) of a tensor of rank 2.
static Tensor rowsOf(const Tensor &rows, int64_t begin, int64_t count) {
  StridedView view = StridedView::whole(rows.getShape());
  view.shape[0] = count;
  view.base = begin * view.strides[0];
  return gather(rows, view);
}

static Tensors rowsOf(ArrayRef<Tensor> tensors, int64_t begin, int64_t count) {
  return llvm::map_to_vector<1>(tensors, [&](const Tensor &tensor) {
    return rowsOf(tensor, begin, count);
  });
}

/// What the combiner makes of both.
static FailureOr<Tensors> combine(CombinerRegion &combiner,
                                  ArrayRef<Tensor> accumulated,
                                  ArrayRef<Tensor> further) {
  Tensors arguments(accumulated);
  llvm::append_range(arguments, further);
  return combiner(arguments);
}

/// Combines the rows of tensors of rank 2 with `results`, of one row: always
/// those of one half with those of the other, so that a call of the combiner is
/// for many of them.
static FailureOr<Tensors> combineRows(CombinerRegion &combiner, Tensors rows,
                                      Tensors results) {
  while (int64_t count = rows[0].getShape()[0]) {
    int64_t half = count / 2;
    if (count % 2 == 1) {
      FailureOr<Tensors> combined =
          combine(combiner, results, rowsOf(rows, count - 1, 1));
      if (failed(combined))
        return failure();
      results = *combined;
    }
    if (half == 0)
      break;
    FailureOr<Tensors> halves =
        combine(combiner, rowsOf(rows, 0, half), rowsOf(rows, half, half));
    if (failed(halves))
      return failure();
    rows = *halves;
  }
  return results;
}

static FailureOr<Tensors> evaluateReduceRegion(ReduceRegionOp op,
                                               ArrayRef<Tensor> operands) {
  size_t count = op.getInputs().size();
  ArrayRef<Tensor> inputs = operands.take_front(count);
  ArrayRef<Tensor> inits = operands.drop_front(count);
  TensorType type = resultType(op);
  // A row for each index of the reduced dimensions.
  SmallVector<int64_t> order(op.getDims());
  for (int64_t d = 0; d < inputs[0].getType().rank(); ++d)
    if (!llvm::is_contained(op.getDims(), d))
      order.push_back(d);
  int64_t numResults = type.numElements();
  Tensors rows, results;
  for (auto [input, init] : llvm::zip_equal(inputs, inits)) {
    int64_t numRows = numResults ? input.getNumElements() / numResults : 0;
    StridedView view = StridedView::whole(input.getShape()).select(order);
    rows.push_back(gather(input, view).reshaped({numRows, numResults}));
    results.push_back(splat(init, {1, numResults}));
  }
  CombinerRegion combiner(op.getCombiner().front());
  FailureOr<Tensors> combined =
      combineRows(combiner, std::move(rows), std::move(results));
  if (failed(combined))
    return failure();
  for (Tensor &result : *combined)
    result = result.reshaped(type.shape);
  return combined;
}

void registerReductionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<ReduceOp, evaluateReduce>(context);
    attach<CumulativeOp, evaluateCumulative>(context);
    attach<ReduceRegionOp, evaluateReduceRegion>(context);
  });
}

} // namespace shoal::reference

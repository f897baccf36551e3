// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "StridedView.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
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

void registerOrderingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<SortOp, evaluateSort>(context);
    attach<TopKOp, evaluateTopK>(context);
  });
}

} // namespace shoal::reference

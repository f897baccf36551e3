// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ops that read or write at places known only at run time mean.

#include "Combiner.h"
#include "Models.h"
#include "StridedView.h"

#include "shoal/Dialect/Shoal/IR/IndexingOps.h"

using namespace mlir;

namespace shoal::reference {

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The box of shape `sizes` in a tensor of shape `whole` that begins at the
/// scalars `starts`, clamped.
static StridedView boxAt(ArrayRef<int64_t> whole, ArrayRef<int64_t> sizes,
                         ArrayRef<Tensor> starts) {
  StridedView view = StridedView::whole(whole);
  view.shape.assign(sizes.begin(), sizes.end());
  for (auto [d, start] : llvm::enumerate(starts))
    view.base += std::clamp<int64_t>(start[0].i, 0, whole[d] - sizes[d]) *
                 view.strides[d];
  return view;
}

static FailureOr<Tensors> evaluateDynamicSlice(DynamicSliceOp op,
                                               ArrayRef<Tensor> operands) {
  return Tensors{
      gather(operands[0], boxAt(operands[0].getShape(), op.getSizes(),
                                operands.drop_front()))};
}

static FailureOr<Tensors>
evaluateDynamicUpdateSlice(DynamicUpdateSliceOp, ArrayRef<Tensor> operands) {
  Tensor result = operands[0];
  scatter(
      operands[1],
      boxAt(result.getShape(), operands[1].getShape(), operands.drop_front(2)),
      result);
  return Tensors{result};
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

namespace {

/// Finds the operand's element that an element of the windows tensor stands
/// for, by the words of the definition: one index at a time.
class PlaceFinder {
public:
  PlaceFinder(const IndexedWindows &w, const Tensor &indices)
      : w(w), indices(indices), batchDims(w.windowsBatchDims()),
        indicesBatchDims(w.indicesBatchDims()),
        offsetDims(w.offsetDimOfOperandDim()),
        strides(rowMajorStrides(w.operandShape)),
        indicesStrides(rowMajorStrides(w.indicesShape)) {}

  /// Nothing where the place is outside the operand; with `clamps` never.
  std::optional<int64_t> find(ArrayRef<int64_t> windowsIndex,
                              bool clamps) const {
    int64_t place = 0;
    for (auto [d, size] : llvm::enumerate(w.operandShape)) {
      int64_t start = startOf(d, windowsIndex);
      if (clamps)
        start = std::clamp<int64_t>(start, 0, size - w.windowSizes[d]);
      int64_t offset = offsetDims[d] >= 0 ? windowsIndex[offsetDims[d]] : 0;
      // Not start + offset, which may be beyond 64 bits.
      if (start < -offset || start >= size - offset)
        return std::nullopt;
      place += (start + offset) * strides[d];
    }
    return place;
  }

private:
  int64_t startOf(int64_t dim, ArrayRef<int64_t> windowsIndex) const {
    int64_t batching = w.indicesDimOfBatching(dim);
    int64_t component = w.componentOf(dim);
    int64_t place = 0;
    for (auto [at, from] : llvm::zip_equal(batchDims, indicesBatchDims)) {
      if (from == batching)
        return windowsIndex[at];
      place += windowsIndex[at] * indicesStrides[from];
    }
    if (component < 0)
      return 0;
    if (w.indexVectorDim < static_cast<int64_t>(w.indicesShape.size()))
      place += component * indicesStrides[w.indexVectorDim];
    return indices[place].i;
  }

  const IndexedWindows &w;
  const Tensor &indices;
  SmallVector<int64_t> batchDims, indicesBatchDims, offsetDims;
  SmallVector<int64_t, 4> strides, indicesStrides;
};

} // namespace

static FailureOr<Tensors> evaluateGather(GatherOp op,
                                         ArrayRef<Tensor> operands) {
  IndexedWindows w = IndexedWindows::of(op);
  PlaceFinder finder(w, operands[1]);
  Tensor result(resultType(op));
  MutableArrayRef<Scalar> elements = result.getMutableElements();
  int64_t number = 0;
  forEachIndex(w.windowsShape, [&](ArrayRef<int64_t> index) {
    elements[number++] = operands[0][*finder.find(index, /*clamps=*/true)];
  });
  return Tensors{result};
}

static FailureOr<Tensors> evaluateScatter(ScatterOp op,
                                          ArrayRef<Tensor> operands) {
  IndexedWindows w = IndexedWindows::of(op);
  PlaceFinder finder(w, operands[1]);
  Tensor result = operands[0];
  MutableArrayRef<Scalar> elements = result.getMutableElements();
  std::optional<Combiner> combiner;
  if (op.getKind())
    combiner.emplace(*op.getKind(), result.getElementType());
  std::vector<bool> written(op.getUniqueIndices() ? elements.size() : 0);
  std::optional<int64_t> twice;
  int64_t number = 0;
  forEachIndex(w.windowsShape, [&](ArrayRef<int64_t> index) {
    int64_t update = number++;
    std::optional<int64_t> place = finder.find(index, /*clamps=*/false);
    if (!place)
      return;
    if (!written.empty()) {
      if (written[*place])
        twice = place;
      written[*place] = true;
    }
    Scalar value = operands[2][update];
    elements[*place] =
        combiner ? combiner->combine(elements[*place], value) : value;
  });
  if (twice)
    return op.emitOpError() << "unique_indices: two windows have element "
                            << *twice << " of the operand";
  if (combiner)
    for (Scalar &element : elements)
      element = combiner->finish(element);
  return Tensors{result};
}

void registerIndexingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<DynamicSliceOp, evaluateDynamicSlice>(context);
    attach<DynamicUpdateSliceOp, evaluateDynamicUpdateSlice>(context);
    attach<GatherOp, evaluateGather>(context);
    attach<ScatterOp, evaluateScatter>(context);
  });
}

} // namespace shoal::reference

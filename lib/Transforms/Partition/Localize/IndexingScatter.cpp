// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Local forms of scatter and dynamic_update_slice.

#include "IndexMath.h"
#include "Models.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A scatter into the device's part: places are counted from its first row, so
/// that what is not its own lies outside and is dropped. Nothing is sent but
/// where updates are split.
class LocalScatter {
public:
  /// `startOf` gives the places of all windows in an operand dimension, with
  /// the shape of the windows' batch dimensions; `updates` is a local value.
  using StartOf = llvm::function_ref<Value(int64_t operandDim)>;

  LocalScatter(Localizer &l, const IndexedWindows &w, Value updates,
               const Sharding &updatesSharding, StartOf startOf)
      : l(l), math(l), w(w), startOf(startOf), updates(updates),
        updatesSharding(updatesSharding), offsetDims(w.offsetDimOfOperandDim()),
        local(tensorTypeOf(l.operands[0])) {
    for (int64_t dim = 0; dim < int64_t(w.operandShape.size()); ++dim)
      if (isDisplaced(dim))
        displaced.push_back(dim);
  }

  /// Whether places change.
  bool isDisplaced() const { return !displaced.empty(); }

  /// The scatter of `values` into `operand` at the device's own places.
  Value emit(std::optional<ReduceKind> kind, Value operand, Value values) {
    for (int64_t dim : w.windowsBatchDims())
      batchShape.push_back(tensorTypeOf(values).getDimSize(dim));
    SmallVector<Value> components;
    SmallVector<int64_t> map;
    for (int64_t dim = 0; dim < int64_t(w.operandShape.size()); ++dim) {
      bool moves = llvm::is_contained(displaced, dim);
      if (!moves && w.componentOf(dim) < 0)
        continue;
      map.push_back(dim);
      components.push_back(moves ? localRows(dim) : startOf(dim));
    }
    SmallVector<int64_t> from = w.indicesBatchDims(), batching;
    for (int64_t dim : w.indicesBatchingDims)
      batching.push_back(llvm::find(from, dim) - from.begin());
    auto kindAttr =
        kind ? ReduceKindAttr::get(l.builder.getContext(), *kind) : nullptr;
    return ScatterOp::create(l.builder, l.getLoc(), local, kindAttr, operand,
                             math.indexVectors(components, batchShape), values,
                             w.offsetDims, w.collapsedDims,
                             w.operandBatchingDims, batching, map,
                             /*index_vector_dim=*/batchShape.size());
  }

private:
  ArrayRef<AxisId> axesOf(int64_t operandDim) const {
    return l.operandShardings[0].dims[operandDim];
  }
  ArrayRef<AxisId> updateAxesOf(int64_t operandDim) const {
    int64_t offsetDim = offsetDims[operandDim];
    if (offsetDim < 0)
      return {};
    return updatesSharding.dims[offsetDim];
  }

  bool isDisplaced(int64_t dim) const {
    if (w.indicesDimOfBatching(dim) >= 0 || w.coversWhole(dim))
      return false;
    return !axesOf(dim).empty() || !updateAxesOf(dim).empty();
  }

  Value localRows(int64_t dim) {
    Value rows = startOf(dim);
    if (Value first = math.firstRow(
            updateAxesOf(dim),
            offsetDims[dim] < 0
                ? 0
                : tensorTypeOf(updates).getDimSize(offsetDims[dim])))
      rows = math.add(rows, math.place(first, batchShape, {}));
    if (Value first = math.firstRow(axesOf(dim), local.getDimSize(dim)))
      rows = math.subtract(rows, math.place(first, batchShape, {}));
    return rows;
  }

  Localizer &l;
  IndexMath math;
  const IndexedWindows &w;
  StartOf startOf;
  Value updates;
  const Sharding &updatesSharding;
  SmallVector<int64_t> offsetDims;
  RankedTensorType local;
  SmallVector<int64_t> displaced, batchShape;
};

/// Dimensions of updates that devices combine in parts: those that are not
/// split with the operand.
SmallVector<int64_t> combinedDims(const IndexedWindows &w) {
  SmallVector<int64_t> dims;
  for (auto [at, from] :
       llvm::zip_equal(w.windowsBatchDims(), w.indicesBatchDims()))
    if (w.operandDimOfBatching(from) < 0)
      dims.push_back(at);
  for (auto [dim, offsetDim] : llvm::enumerate(w.offsetDimOfOperandDim()))
    if (offsetDim >= 0 && !w.coversWhole(dim))
      dims.push_back(offsetDim);
  return dims;
}

struct Scatter : LocalizeOpInterface::ExternalModel<Scatter, ScatterOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<ScatterOp>(operation);
    IndexedWindows w = IndexedWindows::of(op);
    Value operand = l.operands[0], updates = l.operands[2];
    AxisList addends = addendAxes(op, l, w);
    if (op.getKind()) {
      TypedAttr neutral = getNeutralElement(
          *op.getKind(), tensorTypeOf(updates).getElementType());
      // What updates past the end are combined with stays as it is.
      updates = l.maskPadding(updates, w.windowsShape, l.operandShardings[2],
                              combinedDims(w), neutral);
      // The operand counts once, but where counting it again changes nothing.
      bool isIdempotent =
          op.getKind() != ReduceKind::Sum && op.getKind() != ReduceKind::Prod;
      if (!isIdempotent && !isNeutral(op.getInput(), *op.getKind()))
        operand = keepOnFirst(l, operand, addends, neutral);
    }
    Value local = emitLocal(op, l, w, operand, updates);
    if (op.getKind() && op.getKind() != ReduceKind::Sum)
      local = reduceOver(l, local, *op.getKind(), addends);
    results.push_back(local);
    return success();
  }

private:
  static bool isNeutral(Value operand, ReduceKind kind) {
    bool isSum = kind == ReduceKind::Sum;
    return isSum ? matchPattern(operand, m_Zero()) ||
                       matchPattern(operand, m_AnyZeroFloat())
                 : matchPattern(operand, m_One()) ||
                       matchPattern(operand, m_OneFloat());
  }

  /// The axes along which devices hold parts of the updates, by splitting them
  /// or as addends, but the whole operand.
  static AxisList addendAxes(ScatterOp op, Localizer &l,
                             const IndexedWindows &w) {
    AxisList axes;
    if (!op.getKind())
      return axes;
    for (int64_t dim : combinedDims(w))
      llvm::append_range(axes, l.operandShardings[2].dims[dim]);
    for (AxisId axis : l.operandShardings[2].partial)
      if (!llvm::is_contained(l.operandShardings[0].partial, axis))
        axes.push_back(axis);
    return axes;
  }

  static Value emitLocal(ScatterOp op, Localizer &l, const IndexedWindows &w,
                         Value operand, Value updates) {
    auto startOf = [&](int64_t dim) {
      int64_t component = w.componentOf(dim);
      if (component >= 0)
        return IndexMath(l).component(l.operands[1], w.indexVectorDim,
                                      component);
      SmallVector<int64_t> shape;
      for (int64_t batchDim : w.windowsBatchDims())
        shape.push_back(tensorTypeOf(updates).getDimSize(batchDim));
      return IndexMath(l).constant(0, shape);
    };
    LocalScatter scatter(l, w, updates, l.operandShardings[2], startOf);
    if (scatter.isDisplaced())
      return scatter.emit(op.getKind(), operand, updates);
    Operation *clone = l.cloneLocally();
    clone->setOperand(0, operand);
    clone->setOperand(2, updates);
    return clone->getResult(0);
  }
};

/// Where the shards cut the updated dimensions, a scatter of one window.
struct DynamicUpdateSlice
    : LocalizeOpInterface::ExternalModel<DynamicUpdateSlice,
                                         DynamicUpdateSliceOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<DynamicUpdateSliceOp>(operation);
    IndexedWindows w;
    w.operandShape = llvm::to_vector(tensorTypeOf(op.getInput()).getShape());
    w.windowsShape = llvm::to_vector(tensorTypeOf(op.getUpdate()).getShape());
    w.windowSizes = w.windowsShape;
    for (auto [dim, size] : llvm::enumerate(w.windowsShape)) {
      w.offsetDims.push_back(dim);
      if (size != w.operandShape[dim])
        w.startIndexMap.push_back(dim);
    }
    auto startOf = [&](int64_t dim) {
      IndexMath math(l);
      return math.clamp(math.widen(l.operands[2 + dim]),
                        w.operandShape[dim] - w.windowsShape[dim]);
    };
    LocalScatter scatter(l, w, l.operands[1], l.operandShardings[1], startOf);
    results.push_back(
        scatter.isDisplaced()
            ? scatter.emit(std::nullopt, l.operands[0], l.operands[1])
            : l.cloneLocally()->getResult(0));
    return success();
  }
};

} // namespace

void shoal::registerIndexingScatterLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ScatterOp::attachInterface<Scatter>(*context);
    DynamicUpdateSliceOp::attachInterface<DynamicUpdateSlice>(*context);
  });
}

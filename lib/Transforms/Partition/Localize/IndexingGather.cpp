// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Local forms of gather and dynamic_slice.

#include "IndexMath.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A gather where windows and shards do not begin at the same rows. Along such
/// a dimension, a displaced one, an index becomes that of each row by itself,
/// counted from the device's first; the device looks up the rows that it holds
/// and the others are left neutral, so that the sum over devices is the result.
///
/// `[1000, 64]`, rows split over 4 devices, indices `[8]`: device i looks up
/// `clamp(index, 0, 999) - 250 * i`, and keeps what is in 0 ... 249.
class DisplacedGather {
public:
  /// `startOf` gives the starts of all windows in an operand dimension, with
  /// the shape of the windows' batch dimensions.
  using StartOf = llvm::function_ref<Value(int64_t operandDim)>;

  DisplacedGather(Localizer &l, const IndexedWindows &w, StartOf startOf)
      : l(l), math(l), w(w), startOf(startOf),
        offsetDims(w.offsetDimOfOperandDim()), result(l.localResultType()),
        local(tensorTypeOf(l.operands[0])) {
    for (int64_t dim = 0; dim < int64_t(w.operandShape.size()); ++dim)
      if (isDisplaced(dim))
        displaced.push_back(dim);
  }

  /// Whether a plain gather on local shapes will not do.
  bool isNeeded() const { return !displaced.empty(); }

  Value emit() {
    findBatchDims();
    SmallVector<Value> components;
    SmallVector<int64_t> startIndexMap;
    for (int64_t dim = 0; dim < int64_t(w.operandShape.size()); ++dim) {
      bool moves = llvm::is_contained(displaced, dim);
      if (!moves && w.componentOf(dim) < 0)
        continue;
      startIndexMap.push_back(dim);
      components.push_back(moves ? localRows(dim) : placedStart(dim));
    }
    Value gathered = emitGather(components, startIndexMap);
    if (!isHeld)
      return gathered;
    bool isBoolean = result.getElementType().isInteger(1);
    ReduceKind kind = isBoolean ? ReduceKind::Or : ReduceKind::Sum;
    Value kept = keepWhere(l, isHeld, gathered, batchDims,
                           getNeutralElement(kind, result.getElementType()));
    return isBoolean ? reduceOver(l, kept, kind, summedAxes) : kept;
  }

private:
  ArrayRef<AxisId> axesOf(int64_t operandDim) const {
    return l.operandShardings[0].dims[operandDim];
  }
  ArrayRef<AxisId> resultAxesOf(int64_t operandDim) const {
    int64_t offsetDim = offsetDims[operandDim];
    if (offsetDim < 0)
      return {};
    return l.resultShardings[0].dims[offsetDim];
  }

  bool isDisplaced(int64_t dim) const {
    if (w.indicesDimOfBatching(dim) >= 0)
      return false;
    if (offsetDims[dim] >= 0 && w.windowSizes[dim] == w.operandShape[dim])
      return false;
    return !axesOf(dim).empty() || !resultAxesOf(dim).empty();
  }

  /// Whether the rows of a window need an index each: where shards cut windows,
  /// and where the last device's window would reach past the end. Otherwise
  /// each device reads a window of its own, in one piece.
  bool needsRows(int64_t dim) const {
    return offsetDims[dim] >= 0 && llvm::is_contained(displaced, dim) &&
           (!axesOf(dim).empty() ||
            w.windowSizes[dim] % l.mesh.sizeOf(resultAxesOf(dim)) != 0);
  }

  /// Rows that have an index each lie along batch dimensions of the local
  /// gather.
  void findBatchDims() {
    batchDims = w.windowsBatchDims();
    for (int64_t dim : displaced)
      if (needsRows(dim))
        batchDims.push_back(offsetDims[dim]);
    llvm::sort(batchDims);
    for (int64_t dim : batchDims)
      batchShape.push_back(result.getDimSize(dim));
  }

  int64_t batchPlaceOf(int64_t resultDim) const {
    return llvm::find(batchDims, resultDim) - batchDims.begin();
  }

  /// The starts in `dim`, over the local gather's batch dimensions.
  Value placedStart(int64_t dim) {
    SmallVector<int64_t> places;
    for (int64_t batchDim : w.windowsBatchDims())
      places.push_back(batchPlaceOf(batchDim));
    return math.place(startOf(dim), batchShape, places);
  }

  /// The rows in `dim` of what the device holds. Notes which are there.
  Value localRows(int64_t dim) {
    Value rows =
        math.clamp(placedStart(dim), w.operandShape[dim] - w.windowSizes[dim]);
    int64_t offsetDim = offsetDims[dim];
    if (needsRows(dim))
      rows = math.add(rows, IotaOp::create(l.builder, l.getLoc(),
                                           math.type(batchShape),
                                           batchPlaceOf(offsetDim)));
    if (offsetDim >= 0)
      if (Value first =
              math.firstRow(resultAxesOf(dim), result.getDimSize(offsetDim)))
        rows = math.add(rows, math.place(first, batchShape, {}));
    Value first = math.firstRow(axesOf(dim), local.getDimSize(dim));
    if (!first)
      return rows;
    rows = math.subtract(rows, math.place(first, batchShape, {}));
    Value here = math.isBelow(rows, local.getDimSize(dim));
    isHeld =
        isHeld
            ? Value(arith::AndIOp::create(l.builder, l.getLoc(), isHeld, here))
            : here;
    llvm::append_range(summedAxes, axesOf(dim));
    return rows;
  }

  Value emitGather(ArrayRef<Value> components, ArrayRef<int64_t> map) {
    SmallVector<int64_t> offsets, collapsed(w.collapsedDims), sizes, batching;
    for (int64_t dim = 0; dim < int64_t(w.operandShape.size()); ++dim) {
      bool isRow = needsRows(dim) || offsetDims[dim] < 0;
      sizes.push_back(isRow ? std::min<int64_t>(1, local.getDimSize(dim))
                            : result.getDimSize(offsetDims[dim]));
      if (!isRow)
        offsets.push_back(offsetDims[dim]);
      else if (offsetDims[dim] >= 0)
        collapsed.push_back(dim);
    }
    llvm::sort(collapsed);
    SmallVector<int64_t> from = w.indicesBatchDims();
    SmallVector<int64_t> at = w.windowsBatchDims();
    for (int64_t indicesDim : w.indicesBatchingDims)
      batching.push_back(
          batchPlaceOf(at[llvm::find(from, indicesDim) - from.begin()]));
    return GatherOp::create(l.builder, l.getLoc(), result, l.operands[0],
                            math.indexVectors(components, batchShape), offsets,
                            collapsed, w.operandBatchingDims, batching, map,
                            /*index_vector_dim=*/batchShape.size(), sizes);
  }

  Localizer &l;
  IndexMath math;
  const IndexedWindows &w;
  StartOf startOf;
  SmallVector<int64_t> offsetDims;
  RankedTensorType result, local;
  SmallVector<int64_t> displaced;
  /// Of the result that the local gather makes, in order.
  SmallVector<int64_t> batchDims, batchShape;
  /// Where the device holds the row that it looks up; null where always.
  Value isHeld;
  AxisList summedAxes;
};

struct Gather : LocalizeOpInterface::ExternalModel<Gather, GatherOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<GatherOp>(operation);
    IndexedWindows w = IndexedWindows::of(op);
    auto startOf = [&](int64_t dim) {
      int64_t component = w.componentOf(dim);
      if (component >= 0)
        return IndexMath(l).component(l.operands[1], w.indexVectorDim,
                                      component);
      SmallVector<int64_t> shape;
      for (int64_t batchDim : w.windowsBatchDims())
        shape.push_back(l.localResultType().getDimSize(batchDim));
      return IndexMath(l).constant(0, shape);
    };
    DisplacedGather displaced(l, w, startOf);
    if (displaced.isNeeded()) {
      results.push_back(displaced.emit());
      return success();
    }
    auto local = cast<GatherOp>(l.cloneLocally());
    SmallVector<int64_t> sizes(op.getSliceSizes());
    for (auto [dim, offsetDim] : llvm::enumerate(w.offsetDimOfOperandDim()))
      if (offsetDim >= 0)
        sizes[dim] = l.localResultType().getDimSize(offsetDim);
    local.setSliceSizes(sizes);
    results.push_back(local.getResult());
    return success();
  }
};

/// A gather of one window.
struct DynamicSlice
    : LocalizeOpInterface::ExternalModel<DynamicSlice, DynamicSliceOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<DynamicSliceOp>(operation);
    IndexedWindows w;
    w.operandShape = llvm::to_vector(tensorTypeOf(op.getInput()).getShape());
    w.windowsShape = w.windowSizes = llvm::to_vector(op.getSizes());
    for (auto [dim, size] : llvm::enumerate(op.getSizes())) {
      w.offsetDims.push_back(dim);
      if (size != w.operandShape[dim])
        w.startIndexMap.push_back(dim);
    }
    auto startOf = [&](int64_t dim) {
      return IndexMath(l).widen(l.operands[1 + dim]);
    };
    DisplacedGather displaced(l, w, startOf);
    if (displaced.isNeeded()) {
      results.push_back(displaced.emit());
      return success();
    }
    auto local = cast<DynamicSliceOp>(l.cloneLocally());
    local.setSizes(l.localResultType().getShape());
    results.push_back(local.getResult());
    return success();
  }
};

} // namespace

void shoal::registerIndexingGatherLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    GatherOp::attachInterface<Gather>(*context);
    DynamicSliceOp::attachInterface<DynamicSlice>(*context);
  });
}

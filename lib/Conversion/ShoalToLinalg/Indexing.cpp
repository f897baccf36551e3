// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// gather, scatter and dynamic slices: calls of the runtime's gather and
// scatter.

#include "Combiner.h"
#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

static rt::WindowsAttr describeWindows(MLIRContext *context,
                                       const IndexedWindows &w) {
  SmallVector<int64_t> operand = rowMajorStrides(w.operandShape);
  SmallVector<int64_t> indices = rowMajorStrides(w.indicesShape);
  SmallVector<int64_t> windows = rowMajorStrides(w.windowsShape);
  // Where each element is an index, an index has one element.
  indices.push_back(0);
  SmallVector<int64_t> offsetDims = w.offsetDimOfOperandDim();
  SmallVector<rt::WindowDim> dims;
  for (auto [dim, size] : llvm::enumerate(w.operandShape)) {
    int64_t component = w.componentOf(dim);
    dims.push_back(
        {size, w.windowSizes[dim],
         offsetDims[dim] < 0 ? 0 : windows[offsetDims[dim]],
         component < 0 ? -1 : component * indices[w.indexVectorDim]});
  }
  SmallVector<rt::WindowLoop> loops;
  for (auto [at, from] :
       llvm::zip_equal(w.windowsBatchDims(), w.indicesBatchDims())) {
    int64_t dim = w.operandDimOfBatching(from);
    loops.push_back({w.windowsShape[at], indices[from],
                     dim < 0 ? 0 : operand[dim], windows[at]});
  }
  return rt::WindowsAttr::get(context, dims, loops);
}

/// The starts of one window in the dimensions of w.startIndexMap, as the
/// indices that its starts are.
static Value makeIndices(OpBuilder &builder, Location loc, OperandRange starts,
                         IndexedWindows &w) {
  int64_t count = w.startIndexMap.size();
  w.indicesShape = {count};
  Value indices = makeEmpty(builder, loc, w.indicesShape,
                            tensorTypeOf(starts.front()).getElementType());
  for (auto [place, dim] : llvm::enumerate(w.startIndexMap)) {
    OpFoldResult offset = builder.getIndexAttr(place);
    OpFoldResult one = builder.getIndexAttr(1);
    indices = tensor::InsertSliceOp::create(builder, loc, starts[dim], indices,
                                            offset, one, one);
  }
  return indices;
}

/// Indices without elements, where all windows begin at 0, are never read; one
/// element stands for them, as calls have no arguments without elements.
static Value readableIndices(OpBuilder &builder, Location loc, Value indices) {
  RankedTensorType type = tensorTypeOf(indices);
  if (type.getNumElements() != 0)
    return indices;
  return makeEmpty(builder, loc, {1}, type.getElementType());
}

static bool isEmpty(Value value) {
  return tensorTypeOf(value).getNumElements() == 0;
}

/// Windows of one box whose starts count only where it is smaller.
static IndexedWindows describeSlice(Value operand, ArrayRef<int64_t> sizes) {
  IndexedWindows w;
  w.operandShape = llvm::to_vector(tensorTypeOf(operand).getShape());
  w.windowsShape = w.windowSizes = llvm::to_vector(sizes);
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    w.offsetDims.push_back(dim);
    if (size != w.operandShape[dim])
      w.startIndexMap.push_back(dim);
  }
  return w;
}

static Value makeGather(OpBuilder &builder, Location loc, Type type,
                        const IndexedWindows &w, Value operand, Value indices) {
  return rt::GatherOp::create(builder, loc, type, operand, indices,
                              makeOutput(builder, loc, type),
                              describeWindows(builder.getContext(), w))
      .getResult(0);
}

static Value makeScatter(OpBuilder &builder, Location loc,
                         std::optional<ReduceKind> kind, bool clamps,
                         bool isUnique, const IndexedWindows &w, Value operand,
                         Value indices, Value updates) {
  MLIRContext *context = builder.getContext();
  return rt::ScatterOp::create(builder, loc, operand.getType(), indices,
                               updates, operand, describeWindows(context, w),
                               kind ? ReduceKindAttr::get(context, *kind)
                                    : ReduceKindAttr(),
                               clamps ? UnitAttr::get(context) : UnitAttr(),
                               isUnique ? UnitAttr::get(context) : UnitAttr(),
                               /*scratch=*/Value())
      .getResult(0);
}

namespace {

struct LowerGather : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    Value indices = readableIndices(rewriter, op.getLoc(), op.getIndices());
    rewriter.replaceOp(
        op, makeGather(rewriter, op.getLoc(), op.getResult().getType(),
                       IndexedWindows::of(op), op.getInput(), indices));
    return success();
  }
};

struct LowerDynamicSlice : OpRewritePattern<DynamicSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DynamicSliceOp op,
                                PatternRewriter &rewriter) const override {
    IndexedWindows w = describeSlice(op.getInput(), op.getSizes());
    if (w.startIndexMap.empty()) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    Value indices = makeIndices(rewriter, op.getLoc(), op.getStarts(), w);
    rewriter.replaceOp(op, makeGather(rewriter, op.getLoc(),
                                      op.getResult().getType(), w,
                                      op.getInput(), indices));
    return success();
  }
};

/// Sums and products of narrow floats are accumulated in f32.
struct LowerScatter : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    if (isEmpty(op.getUpdates())) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    Type element = tensorTypeOf(op.getInput()).getElementType();
    Type accumulator =
        op.getKind() ? getAccumulator(*op.getKind(), element) : element;
    Location loc = op.getLoc();
    Value scattered =
        makeScatter(rewriter, loc, op.getKind(), /*clamps=*/false,
                    op.getUniqueIndices(), IndexedWindows::of(op),
                    convertTo(rewriter, loc, op.getInput(), accumulator),
                    readableIndices(rewriter, loc, op.getIndices()),
                    convertTo(rewriter, loc, op.getUpdates(), accumulator));
    rewriter.replaceOp(op, convertTo(rewriter, loc, scattered, element));
    return success();
  }
};

struct LowerDynamicUpdateSlice : OpRewritePattern<DynamicUpdateSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DynamicUpdateSliceOp op,
                                PatternRewriter &rewriter) const override {
    IndexedWindows w =
        describeSlice(op.getInput(), tensorTypeOf(op.getUpdate()).getShape());
    if (w.startIndexMap.empty()) {
      rewriter.replaceOp(op, op.getUpdate());
      return success();
    }
    if (isEmpty(op.getUpdate())) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    Value indices = makeIndices(rewriter, op.getLoc(), op.getStarts(), w);
    rewriter.replaceOp(op, makeScatter(rewriter, op.getLoc(), std::nullopt,
                                       /*clamps=*/true, /*isUnique=*/false, w,
                                       op.getInput(), indices, op.getUpdate()));
    return success();
  }
};

} // namespace

void shoal::populateIndexingPatterns(RewritePatternSet &patterns,
                                     const ProgramNumbering &) {
  patterns.add<LowerGather, LowerDynamicSlice, LowerScatter,
               LowerDynamicUpdateSlice>(patterns.getContext());
}

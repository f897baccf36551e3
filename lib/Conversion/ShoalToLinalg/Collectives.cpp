// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;

namespace {

/// What all collectives' patterns need.
template <typename Op>
struct LowerSpmd : OpRewritePattern<Op> {
  LowerSpmd(MLIRContext *context, const ProgramNumbering &numbering)
      : OpRewritePattern<Op>(context), numbers(numbering.collectives) {}

  /// Its number in the metadata; none for what does not communicate.
  IntegerAttr numberOf(Op op) const {
    auto number = numbers.find(op);
    return number == numbers.end()
               ? IntegerAttr()
               : Builder(op.getContext()).getI64IntegerAttr(number->second);
  }
  /// Replaces the op by a call with its input, a fresh output and `args`.
  template <typename Call, typename... Args>
  static LogicalResult replace(PatternRewriter &rewriter, Op op,
                               Args &&...args) {
    Type type = op.getResult().getType();
    Value output = makeOutput(rewriter, op.getLoc(), type);
    rewriter.replaceOpWithNewOp<Call>(op, TypeRange(type), op.getInput(),
                                      output, std::forward<Args>(args)...);
    return success();
  }

  const llvm::DenseMap<Operation *, int64_t> &numbers;
};

struct LowerAxisIndex : LowerSpmd<spmd::AxisIndexOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AxisIndexOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getResult().getType();
    rewriter.replaceOpWithNewOp<rt::AxisIndexOp>(
        op, TypeRange(type), makeOutput(rewriter, op.getLoc(), type),
        op.getMeshAttr(), op.getAxes());
    return success();
  }
};

struct LowerAllGather : LowerSpmd<spmd::AllGatherOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AllGatherOp op,
                                PatternRewriter &rewriter) const override {
    return replace<rt::AllGatherOp>(rewriter, op, op.getMeshAttr(),
                                    op.getAxes(), numberOf(op),
                                    /*scratch=*/Value());
  }
};

struct LowerAllSlice : LowerSpmd<spmd::AllSliceOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    return replace<rt::AllSliceOp>(rewriter, op, op.getMeshAttr(),
                                   op.getAxes());
  }
};

struct LowerReduceScatter : LowerSpmd<spmd::ReduceScatterOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::ReduceScatterOp op,
                                PatternRewriter &rewriter) const override {
    return replace<rt::ReduceScatterOp>(rewriter, op, op.getKindAttr(),
                                        op.getMeshAttr(), op.getAxes(),
                                        numberOf(op), /*scratch=*/Value());
  }
};

struct LowerAllReduce : LowerSpmd<spmd::AllReduceOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AllReduceOp op,
                                PatternRewriter &rewriter) const override {
    return replace<rt::AllReduceOp>(rewriter, op, op.getKindAttr(),
                                    op.getMeshAttr(), op.getAxes(),
                                    numberOf(op), /*scratch=*/Value());
  }
};

struct LowerAllToAll : LowerSpmd<spmd::AllToAllOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AllToAllOp op,
                                PatternRewriter &rewriter) const override {
    return replace<rt::AllToAllOp>(rewriter, op, op.getMeshAttr(),
                                   op.getMoves(), numberOf(op),
                                   /*scratch=*/Value());
  }
};

/// The output is what rows come into.
struct LowerRaggedAllToAll : LowerSpmd<spmd::RaggedAllToAllOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::RaggedAllToAllOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::RaggedAllToAllOp>(
        op, TypeRange(op.getResult().getType()), op.getInput(),
        op.getInputOffsets(), op.getSendSizes(), op.getOutputOffsets(),
        op.getRecvSizes(), op.getOutput(), op.getMeshAttr(), op.getAxesAttr(),
        numberOf(op), /*scratch=*/Value());
    return success();
  }
};

struct LowerCollectivePermute : LowerSpmd<spmd::CollectivePermuteOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::CollectivePermuteOp op,
                                PatternRewriter &rewriter) const override {
    return replace<rt::CollectivePermuteOp>(
        rewriter, op, op.getMeshAttr(), op.getSourceAxes(),
        op.getTargetMeshAttr(), op.getTargetAxes(), op.getShiftAttr(),
        op.getPairsAttr(), numberOf(op));
  }
};

/// All dimensions but one are whole on each device.
struct LowerHaloExchange : LowerSpmd<spmd::HaloExchangeOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::HaloExchangeOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    auto none = AxesAttr::get(op.getContext(), {});
    SmallVector<Attribute> dims;
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      bool isCut = d == op.getDim();
      RowWindow window = isCut ? op.getWindow() : RowWindow{0, 0, 1, size};
      AxesAttr axes = isCut ? op.getAxes() : none;
      dims.push_back(rt::ExchangeDimAttr::get(
          op.getContext(), isCut ? op.getNumRows() : size, window.step,
          window.offset, window.divisor, window.rows, axes, axes));
    }
    return replace<rt::ExchangeOp>(
        rewriter, op, op.getMeshAttr(), op.getMeshAttr(),
        rewriter.getArrayAttr(dims), rewriter.getUnitAttr(), numberOf(op),
        /*scratch=*/Value());
  }
};

struct LowerExchange : LowerSpmd<spmd::ExchangeOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::ExchangeOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<Attribute> dims;
    for (auto [size, rows, from, to] :
         llvm::zip_equal(op.getShape(), type.getShape(), op.getSourceAxes(),
                         op.getTargetAxes()))
      dims.push_back(rt::ExchangeDimAttr::get(
          op.getContext(), size, /*step=*/rows, /*offset=*/0, /*divisor=*/1,
          rows, cast<AxesAttr>(from), cast<AxesAttr>(to)));
    return replace<rt::ExchangeOp>(
        rewriter, op, op.getMeshAttr(), op.getTargetMeshAttr(),
        rewriter.getArrayAttr(dims), /*halo=*/UnitAttr(), numberOf(op),
        /*scratch=*/Value());
  }
};

} // namespace

void shoal::populateCollectivesPatterns(RewritePatternSet &patterns,
                                        const ProgramNumbering &numbering) {
  patterns
      .add<LowerAxisIndex, LowerAllGather, LowerAllSlice, LowerReduceScatter,
           LowerAllReduce, LowerAllToAll, LowerRaggedAllToAll,
           LowerCollectivePermute, LowerHaloExchange, LowerExchange>(
          patterns.getContext(), numbering);
}

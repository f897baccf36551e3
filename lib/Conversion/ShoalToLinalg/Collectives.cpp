// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Descriptor.h"
#include "Families.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;

namespace {

/// What all collectives' patterns need.
template <typename Op>
struct LowerSpmd : OpRewritePattern<Op> {
  LowerSpmd(MLIRContext *context, const ProgramNumbering &numbering)
      : OpRewritePattern<Op>(context), numbering(numbering) {}

  static MeshAttr getMesh(Op op, FlatSymbolRefAttr symbol) {
    return SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, symbol).getMesh();
  }
  int64_t numberOf(FlatSymbolRefAttr mesh) const {
    return numbering.meshes.lookup(mesh.getAttr());
  }
  /// Its number in the metadata; -1 for what does not communicate.
  int64_t numberOf(Op op) const {
    auto number = numbering.collectives.find(op);
    return number == numbering.collectives.end() ? -1 : number->second;
  }
  /// [id, type, mesh], how every collective's descriptor begins.
  Descriptor begin(Op op) const {
    Descriptor desc;
    desc.add(numberOf(op));
    return desc.addType(op.getInput().getType())
        .add(numberOf(op.getMeshAttr()));
  }
  static void addShapes(Descriptor &desc, Op op) {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    desc.add(type.getRank()).addShape(type).addShape(op.getResult().getType());
  }
  LogicalResult replace(PatternRewriter &rewriter, Op op,
                        const Descriptor &desc) const {
    SmallVector<Value> results =
        makeRuntimeCall(rewriter, op.getLoc(), op->getName().stripDialect(),
                        desc.get(), op->getOperands(), op->getResultTypes());
    if (int64_t number = numberOf(op); number >= 0)
      results[0].getDefiningOp<rt::CallOp>().setCollective(number);
    rewriter.replaceOp(op, results);
    return success();
  }

  const ProgramNumbering &numbering;
};

struct LowerAxisIndex : LowerSpmd<spmd::AxisIndexOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AxisIndexOp op,
                                PatternRewriter &rewriter) const override {
    Descriptor desc;
    desc.add(numberOf(op.getMeshAttr()));
    desc.addAxes(op.getAxes(), getMesh(op, op.getMeshAttr()));
    return replace(rewriter, op, desc);
  }
};

/// all_gather, all_slice.
template <typename Op>
struct LowerGatherOrSlice : LowerSpmd<Op> {
  using LowerSpmd<Op>::LowerSpmd;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Descriptor desc = this->begin(op);
    this->addShapes(desc, op);
    desc.addAxesPerDim(op.getAxes(), this->getMesh(op, op.getMeshAttr()));
    return this->replace(rewriter, op, desc);
  }
};

struct LowerReduceScatter : LowerSpmd<spmd::ReduceScatterOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::ReduceScatterOp op,
                                PatternRewriter &rewriter) const override {
    Descriptor desc = begin(op).addKind(op.getKind());
    addShapes(desc, op);
    desc.addAxesPerDim(op.getAxes(), getMesh(op, op.getMeshAttr()));
    return replace(rewriter, op, desc);
  }
};

struct LowerAllReduce : LowerSpmd<spmd::AllReduceOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AllReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    Descriptor desc = begin(op).addKind(op.getKind());
    desc.add(type.getNumElements());
    desc.addAxes(op.getAxes(), getMesh(op, op.getMeshAttr()));
    return replace(rewriter, op, desc);
  }
};

struct LowerAllToAll : LowerSpmd<spmd::AllToAllOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::AllToAllOp op,
                                PatternRewriter &rewriter) const override {
    MeshAttr mesh = getMesh(op, op.getMeshAttr());
    Descriptor desc = begin(op);
    addShapes(desc, op);
    desc.add(op.getMoves().size());
    for (auto move : op.getMoves().getAsRange<spmd::MoveAttr>()) {
      desc.add(move.getSourceDim()).add(move.getTargetDim());
      desc.addAxes(move.getAxes(), mesh);
    }
    return replace(rewriter, op, desc);
  }
};

struct LowerCollectivePermute : LowerSpmd<spmd::CollectivePermuteOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::CollectivePermuteOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    Descriptor desc = begin(op);
    desc.add(numberOf(op.getTargetMeshAttr())).add(type.getNumElements());
    desc.add(static_cast<int64_t>(op.getShift()));
    desc.addAxes(op.getSourceAxes(), getMesh(op, op.getMeshAttr()));
    desc.addAxes(op.getTargetAxes(), getMesh(op, op.getTargetMeshAttr()));
    return replace(rewriter, op, desc);
  }
};

/// One dimension of the runtime's exchange.
void addExchangeDim(Descriptor &desc, int64_t size, const RowWindow &window) {
  desc.add({size, window.step, window.offset, window.divisor, window.rows});
}

struct LowerHaloExchange : LowerSpmd<spmd::HaloExchangeOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::HaloExchangeOp op,
                                PatternRewriter &rewriter) const override {
    MeshAttr mesh = getMesh(op, op.getMeshAttr());
    auto type = cast<RankedTensorType>(op.getInput().getType());
    Descriptor desc = begin(op);
    desc.add(numberOf(op.getMeshAttr())).add(type.getRank());
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      if (d != op.getDim()) { // whole on each device
        addExchangeDim(desc, size, {0, 0, 1, size});
        desc.add({0, 0});
        continue;
      }
      addExchangeDim(desc, op.getNumRows(), op.getWindow());
      desc.addAxes(op.getAxes(), mesh).addAxes(op.getAxes(), mesh);
    }
    return replace(rewriter, op, desc);
  }
};

struct LowerExchange : LowerSpmd<spmd::ExchangeOp> {
  using LowerSpmd::LowerSpmd;
  LogicalResult matchAndRewrite(spmd::ExchangeOp op,
                                PatternRewriter &rewriter) const override {
    MeshAttr source = getMesh(op, op.getMeshAttr());
    MeshAttr target = getMesh(op, op.getTargetMeshAttr());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Descriptor desc = begin(op);
    desc.add(numberOf(op.getTargetMeshAttr())).add(type.getRank());
    for (auto [size, rows, from, to] :
         llvm::zip_equal(op.getShape(), type.getShape(), op.getSourceAxes(),
                         op.getTargetAxes())) {
      addExchangeDim(desc, size, {rows, 0, 1, rows});
      desc.addAxes(cast<AxesAttr>(from), source);
      desc.addAxes(cast<AxesAttr>(to), target);
    }
    return replace(rewriter, op, desc);
  }
};

} // namespace

void shoal::populateCollectivesPatterns(RewritePatternSet &patterns,
                                        const ProgramNumbering &numbering) {
  patterns.add<LowerAxisIndex, LowerGatherOrSlice<spmd::AllGatherOp>,
               LowerGatherOrSlice<spmd::AllSliceOp>, LowerReduceScatter,
               LowerAllReduce, LowerAllToAll, LowerCollectivePermute,
               LowerHaloExchange, LowerExchange>(patterns.getContext(),
                                                 numbering);
}

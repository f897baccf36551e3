// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-unroll-reductions.

#include "../ShoalToLinalg/Patterns.h"
#include "../Utils/SumOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Support/Threshold.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-unroll-reductions"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_UNROLLREDUCTIONS
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numUnrolled(DEBUG_TYPE, "Reductions unrolled");

/// Up to so many elements a thread has loads under way for all of them at once.
static const support::Threshold
    manyIterations("terms of a reduction that is a loop", kSequentialTerms + 1);
/// Of bodies after each other.
static const support::Threshold manyOps("ops of a reduction that is a loop",
                                        161);

namespace {

/// The loops of an op: which are kept, and how long the others are.
struct LoopsOf {
  explicit LoopsOf(linalg::GenericOp op) : ranges(op.getStaticLoopRanges()) {
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      (kind == utils::IteratorType::reduction ? reduced : kept).push_back(loop);
  }

  bool isReduced(unsigned loop) const {
    return llvm::is_contained(reduced, loop);
  }
  int64_t countReduced() const {
    int64_t count = 1;
    for (unsigned loop : reduced)
      count *= ranges[loop];
    return count;
  }
  /// The indices of the reduced loops in iteration `number`, the last fastest;
  /// by the op's loops.
  SmallVector<int64_t> indicesOf(int64_t number) const {
    SmallVector<int64_t> indices(ranges.size(), 0);
    for (unsigned loop : llvm::reverse(reduced)) {
      indices[loop] = number % ranges[loop];
      number /= ranges[loop];
    }
    return indices;
  }
  /// The map by the loops that are kept, at `indices` of the others.
  AffineMap project(AffineMap map, ArrayRef<int64_t> indices) const {
    MLIRContext *context = map.getContext();
    SmallVector<AffineExpr> dims;
    for (int64_t index : indices)
      dims.push_back(getAffineConstantExpr(index, context));
    for (auto [place, loop] : llvm::enumerate(kept))
      dims[loop] = getAffineDimExpr(place, context);
    return map.replaceDimsAndSymbols(dims, {}, kept.size(), 0);
  }

  SmallVector<int64_t> ranges;
  SmallVector<unsigned> kept, reduced;
};

} // namespace

/// Whether each result has an element for each iteration of the loops that are
/// kept, and the reduced ones are dimensions wherever they occur: not those of
/// windows, which overlap.
static bool isPlain(linalg::GenericOp op, const LoopsOf &loops) {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (llvm::any_of(loops.reduced,
                     [&](unsigned loop) { return map.isFunctionOfDim(loop); }))
      return false;
    AffineMap kept = loops.project(map, loops.indicesOf(0));
    if (!kept.isPermutation())
      return false;
  }
  return llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
      return isa<AffineDimExpr>(expr) ||
             llvm::none_of(loops.reduced, [&](unsigned loop) {
               return expr.isFunctionOfDim(loop);
             });
    });
  });
}

/// Whether most elements lie next to each other along a reduced loop: threads
/// that share a row read it faster than one for each row would.
static bool reducesRows(linalg::GenericOp op, const LoopsOf &loops) {
  SmallVector<int64_t> bytes(loops.ranges.size(), 0);
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !type.getElementType().isIntOrFloat())
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (AffineExpr expr : llvm::reverse(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && loops.ranges[dim.getPosition()] != 1) {
        bytes[dim.getPosition()] +=
            type.getNumElements() *
            llvm::divideCeil(type.getElementTypeBitWidth(), 8);
        break;
      }
  }
  return loops.isReduced(llvm::max_element(bytes) - bytes.begin());
}

static bool shouldUnroll(linalg::GenericOp op, const LoopsOf &loops) {
  int64_t bodyOps = 0;
  for (Operation &inner : *op.getBody()) {
    if (inner.getNumRegions() != 0)
      return false;
    ++bodyOps;
  }
  int64_t iterations = loops.countReduced();
  return iterations >= 1 && !manyIterations.isReachedBy(iterations) &&
         !manyOps.isReachedBy(iterations * bodyOps) &&
         !llvm::is_contained(loops.ranges, 0) && isPlain(op, loops) &&
         !reducesRows(op, loops);
}

namespace {

/// The op without its reduced loops, whose iterations the body does one after
/// another.
class Unroller {
public:
  Unroller(linalg::GenericOp op, const LoopsOf &loops) : op(op), loops(loops) {}

  linalg::GenericOp run() {
    OpBuilder builder(op);
    addInputs();
    SmallVector<Value> inits;
    for (Value init : op.getDpsInits()) {
      auto type = cast<RankedTensorType>(init.getType());
      inits.push_back(makeEmpty(builder, op.getLoc(), type.getShape(),
                                type.getElementType()));
    }
    for (OpOperand &init : op.getDpsInitsMutable())
      maps.push_back(
          loops.project(op.getMatchingIndexingMap(&init), loops.indicesOf(0)));
    SmallVector<utils::IteratorType> iterators(loops.kept.size(),
                                               utils::IteratorType::parallel);
    return linalg::GenericOp::create(
        builder, op.getLoc(), op.getResultTypes(), inputs, inits, maps,
        iterators, [&](OpBuilder &nested, Location loc, ValueRange args) {
          linalg::YieldOp::create(nested, loc, runBodies(nested, args));
        });
  }

private:
  /// An input for each place in which an operand is read: `places` has them by
  /// iterations and operands.
  void addInputs() {
    places.resize(loops.countReduced());
    llvm::DenseMap<std::pair<Value, AffineMap>, unsigned> known;
    for (auto [number, ofIteration] : llvm::enumerate(places))
      for (OpOperand &operand : op->getOpOperands()) {
        AffineMap map = loops.project(op.getMatchingIndexingMap(&operand),
                                      loops.indicesOf(number));
        auto [found, isNew] =
            known.try_emplace({operand.get(), map}, inputs.size());
        ofIteration.push_back(found->second);
        if (!isNew)
          continue;
        inputs.push_back(operand.get());
        maps.push_back(map);
      }
  }

  SmallVector<Value> runBodies(OpBuilder &builder, ValueRange args) {
    SmallVector<Value> sums;
    for (auto [number, ofIteration] : llvm::enumerate(places)) {
      SmallVector<Value> arguments;
      for (unsigned place : ofIteration)
        arguments.push_back(args[place]);
      for (auto [i, sum] : llvm::enumerate(sums))
        arguments[op.getNumDpsInputs() + i] = sum;
      sums = runBody(builder, arguments, loops.indicesOf(number));
    }
    return sums;
  }

  SmallVector<Value> runBody(OpBuilder &builder, ArrayRef<Value> arguments,
                             ArrayRef<int64_t> indices) {
    IRMapping mapping;
    mapping.map(op.getBody()->getArguments(), arguments);
    for (Operation &inner : op.getBody()->without_terminator()) {
      auto index = dyn_cast<linalg::IndexOp>(inner);
      if (!index) {
        builder.clone(inner, mapping);
        continue;
      }
      mapping.map(index.getResult(), makeIndex(builder, index, indices));
    }
    return llvm::map_to_vector(
        op.getBody()->getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  Value makeIndex(OpBuilder &builder, linalg::IndexOp index,
                  ArrayRef<int64_t> indices) {
    auto loop = static_cast<unsigned>(index.getDim());
    if (loops.isReduced(loop))
      return arith::ConstantIndexOp::create(builder, index.getLoc(),
                                            indices[loop]);
    const unsigned *place = llvm::find(loops.kept, loop);
    return linalg::IndexOp::create(builder, index.getLoc(),
                                   place - loops.kept.begin());
  }

  linalg::GenericOp op;
  const LoopsOf &loops;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<SmallVector<unsigned>> places;
};

struct UnrollReductions : shoal::impl::UnrollReductionsBase<UnrollReductions> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.hasPureTensorSemantics() && !op.hasDynamicShape() &&
          op.getNumReductionLoops() != 0)
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      LoopsOf loops(op);
      if (!shouldUnroll(op, loops))
        continue;
      LDBG() << loops.countReduced() << " iterations at "
             << sourcePlace(op.getLoc());
      ++numUnrolled;
      op->replaceAllUsesWith(Unroller(op, loops).run());
      op.erase();
    }
  }
};

} // namespace

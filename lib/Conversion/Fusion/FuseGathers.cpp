// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-fuse-gathers.

#include "GatherLoops.h"
#include "TensorReads.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Support/Threshold.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-fuse-gathers"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_FUSEGATHERS
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numGathers(DEBUG_TYPE, "Gathers that their readers do");
static PassCounter numReaders(DEBUG_TYPE, "Readers that gather for themselves");
static PassCounter numKept(DEBUG_TYPE, "Gathers that stay calls");

/// Up to so many ops each read scattered rows for themselves, if rows are so
/// long that memory serves them as well as neighbouring ones.
static constexpr size_t kMaxReaders = 4;
static const support::Threshold
    longRow("bytes of a gathered row that is read twice", 128);

/// Adds the uses of `value` and of it in other shapes, if all are of loops of
/// the call's block that read each element once.
static bool addReaders(Value value, rt::GatherOp call,
                       SmallVectorImpl<OpOperand *> &readers) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    // A loop is not to read in every trip what is gathered before it.
    if (user->getBlock() != call->getBlock())
      return false;
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      return addReaders(user->getResult(0), call, readers);
    auto reader = dyn_cast<linalg::GenericOp>(user);
    if (!reader || !reader.isDpsInput(&use) || reader.hasDynamicShape() ||
        llvm::any_of(readers, [&](OpOperand *other) {
          return other->getOwner() == user;
        }))
      return false;
    AffineMap map = reader.getMatchingIndexingMap(&use);
    readers.push_back(&use);
    return map.isPermutation() && keepsLastDim(reader, map);
  });
}

/// Whether the gather is one on tensors that are not empty.
static bool canBeLoops(rt::GatherOp call) {
  return call->getNumResults() == 1 &&
         cast<ShapedType>(call.getOutput().getType()).getNumElements() != 0;
}

/// Tells why the gather stays.
static SmallVector<OpOperand *> noReaders(rt::GatherOp call, StringRef reason) {
  LDBG() << "the gather at " << sourcePlace(call.getLoc())
         << " stays: " << reason;
  return {};
}

/// What reads the call's result, if each may gather for itself.
static SmallVector<OpOperand *> findReaders(rt::GatherOp call) {
  SmallVector<OpOperand *> readers;
  if (!addReaders(call->getResult(0), call, readers))
    return noReaders(call, "not all its readers are loops beside it that read "
                           "each element once");
  if (readers.size() > kMaxReaders)
    return noReaders(call, "it has too many readers");
  if (readers.size() > 1 && !longRow.isReachedBy(countRowBytes(call)))
    return noReaders(call, "its rows are too short to be read several times");
  bool isWritten = llvm::any_of(readers, [&](OpOperand *use) {
    return mayBeWrittenBetween(call.getInput(), call, use->getOwner()) ||
           mayBeWrittenBetween(call.getIndices(), call, use->getOwner());
  });
  if (isWritten)
    return noReaders(call, "what it reads may be overwritten before a reader");
  return readers;
}

namespace {

/// A reader that gets a gather of its own in front of it.
struct Reader {
  OpOperand *use;
  Value gathered;
  linalg::GenericOp gather;
};

} // namespace

/// Erases the call and its result in other shapes where nothing uses them.
static void eraseUnused(Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      eraseUnused(user);
  if (op->use_empty())
    op->erase();
}

/// The gather as loops in front of each reader, which these may be fused into;
/// nothing, and nothing changed, where one cannot be.
static SmallVector<Reader> gatherForEach(rt::GatherOp call,
                                         ArrayRef<OpOperand *> uses) {
  SmallVector<Reader> readers;
  for (OpOperand *use : uses) {
    OpBuilder builder(use->getOwner());
    Value gathered = use->get();
    linalg::GenericOp gather = makeGatherLoops(
        builder, call, cast<RankedTensorType>(gathered.getType()));
    if (gather) {
      readers.push_back({use, gathered, gather});
      use->set(gather.getResult(0));
    }
    // Where only the gathered tensor says how long a reduced loop is, it stays.
    if (gather && linalg::areElementwiseOpsFusable(use))
      continue;
    LDBG() << "the gather at " << sourcePlace(call.getLoc()) << " stays: "
           << (gather ? "its loops do not fuse into those"
                      : "it is no loops in the shape of the reader")
           << " at " << sourcePlace(use->getOwner()->getLoc());
    for (Reader &reader : readers) {
      reader.use->set(reader.gathered);
      reader.gather.erase();
    }
    return {};
  }
  return readers;
}

static void fuse(const Reader &reader) {
  auto op = cast<linalg::GenericOp>(reader.use->getOwner());
  linalg::GenericOp gather = reader.gather;
  IRRewriter rewriter(op);
  FailureOr<linalg::ElementwiseOpFusionResult> fused =
      linalg::fuseElementwiseOps(rewriter, reader.use);
  if (failed(fused)) // Then it is an op of its own.
    return;
  for (auto [before, after] : fused->replacements)
    rewriter.replaceAllUsesWith(before, after);
  rewriter.eraseOp(op);
  rewriter.eraseOp(gather);
}

/// Loops' indices that came through maps become plain again.
static LogicalResult simplifyIndices(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  affine::AffineApplyOp::getCanonicalizationPatterns(patterns,
                                                     func.getContext());
  return applyPatternsGreedily(func, std::move(patterns));
}

namespace {

struct FuseGathers : shoal::impl::FuseGathersBase<FuseGathers> {
  void runOnOperation() override {
    SmallVector<rt::GatherOp> calls;
    getOperation().walk([&](rt::GatherOp call) {
      if (canBeLoops(call))
        calls.push_back(call);
    });
    for (rt::GatherOp call : calls)
      fuseInto(call, gatherForEach(call, findReaders(call)));
    if (failed(simplifyIndices(getOperation())))
      return signalPassFailure();
  }

private:
  static void fuseInto(rt::GatherOp call, ArrayRef<Reader> readers) {
    if (readers.empty()) {
      ++numKept;
      return;
    }
    LDBG() << "the gather at " << sourcePlace(call.getLoc()) << " goes into "
           << readers.size() << " readers";
    ++numGathers;
    numReaders += readers.size();
    for (const Reader &reader : readers)
      fuse(reader);
    eraseUnused(call);
  }
};

} // namespace

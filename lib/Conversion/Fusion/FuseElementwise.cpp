// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-fuse-elementwise.

#include "ScalarCost.h"
#include "TensorReads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-fuse-elementwise"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

static shoal::PassCounter numProducers(DEBUG_TYPE,
                                       "Producers fused into a consumer");

/// Operations (and operands) up to which computing a value again is cheaper
/// than storing and loading it.
static constexpr int64_t kCheapOps = 4;
static constexpr int64_t kCheapInputs = 3;

/// Operations of a body up to which others join it. It bounds what a fusion
/// copies and simplifies, so that a chain takes time linear in its length; by
/// then a trip through memory is little beside the arithmetic.
static constexpr size_t kMaxBodyOps = 128;

static bool fitsTogether(linalg::GenericOp producer,
                         linalg::GenericOp consumer) {
  return producer.getBody()->getOperations().size() +
             consumer.getBody()->getOperations().size() <=
         kMaxBodyOps;
}

/// Scalar operations of the body; -1 if one of them is expensive.
static int64_t countCheapOps(linalg::GenericOp op) {
  int64_t count = 0;
  for (Operation &nested : op.getBody()->without_terminator()) {
    if (shoal::isExpensive(nested))
      return -1;
    if (!isa<linalg::IndexOp>(nested) &&
        !nested.hasTrait<OpTrait::ConstantLike>())
      ++count;
  }
  return count;
}

static bool isCheap(linalg::GenericOp op) {
  int64_t count = countCheapOps(op);
  return count >= 0 && count <= kCheapOps &&
         op.getNumDpsInputs() <= kCheapInputs;
}

static bool onlyMoves(linalg::GenericOp op) { return countCheapOps(op) == 0; }

/// Whether the consumer's loops read each element of the operand once.
static bool readsOnce(OpOperand &operand) {
  auto consumer = cast<linalg::GenericOp>(operand.getOwner());
  return consumer.getMatchingIndexingMap(&operand).isPermutation();
}

/// Those ops between the producer and a consumer of it, in their block, that
/// use what it makes, too, in or out of their regions; the first `most` of
/// them. They are looked for step by step: where ops come and go, asking which
/// of two is first numbers all of the block again.
static SmallPtrSet<Operation *, 4>
findUsersBefore(Operation *consumer, Operation *producer,
                size_t most = std::numeric_limits<size_t>::max()) {
  SmallPtrSet<Operation *, 4> users, before;
  for (Operation *user : producer->getUsers())
    users.insert(producer->getBlock()->findAncestorOpInBlock(*user));
  users.erase(consumer);
  most = std::min<size_t>(most, users.size());
  Operation *op = producer;
  while (before.size() < most && (op = op->getNextNode()) != consumer)
    if (users.contains(op))
      before.insert(op);
  return before;
}

/// Whether what the producer reads through indices may as well be read at the
/// consumer's place, in the consumer's order.
static bool canReadLater(linalg::GenericOp producer, OpOperand &operand) {
  auto consumer = cast<linalg::GenericOp>(operand.getOwner());
  SmallVector<Value> tensors = shoal::extractedTensors(producer);
  return tensors.empty() ||
         (!consumer.hasDynamicShape() &&
          shoal::keepsLastDim(consumer,
                              consumer.getMatchingIndexingMap(&operand)) &&
          llvm::none_of(tensors, [&](Value tensor) {
            return shoal::mayBeWrittenBetween(tensor, producer, consumer);
          }));
}

static bool shouldFuse(OpOperand &operand) {
  auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand.getOwner());
  // A loop is not to compute in every trip what is computed before it.
  if (!producer || !consumer || producer->getBlock() != consumer->getBlock() ||
      !fitsTogether(producer, consumer) ||
      !linalg::areElementwiseOpsFusable(&operand))
    return false;
  if (onlyMoves(producer) || isCheap(producer))
    return readsOnce(operand) || onlyMoves(producer) ||
           countCheapOps(producer) <= 1;
  return readsOnce(operand) &&
         findUsersBefore(consumer, producer, /*most=*/1).empty() &&
         canReadLater(producer, operand);
}

/// Bytes of the tensor; nothing where a size is not known.
static std::optional<int64_t> countBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isIntOrFloat())
    return 0;
  if (!type.hasStaticShape())
    return std::nullopt;
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Whether the use says no more than a shape.
static bool isShape(OpOperand &use) {
  auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
  return user && user.isDpsInit(&use) &&
         !user.payloadUsesValueFromOperand(&use);
}

/// Whether the producer broadcasts or converts, each use may do that for itself
/// and reads no more than it would if the first one stored the value.
static bool isBetterComputedAgain(linalg::GenericOp producer) {
  int64_t ops = countCheapOps(producer);
  if (producer.getNumResults() != 1 || ops < 0 || ops > 1 ||
      !producer.getMatchingIndexingMap(producer.getDpsInitOperand(0))
           .isIdentity())
    return false;
  int64_t read = 0;
  for (OpOperand *input : producer.getDpsInputOperands()) {
    ArrayRef<AffineExpr> places =
        producer.getMatchingIndexingMap(input).getResults();
    std::optional<int64_t> bytes = countBytes(input->get());
    // What is read across is better moved once.
    if (!bytes || !llvm::is_sorted(places, [](AffineExpr a, AffineExpr b) {
          auto first = dyn_cast<AffineDimExpr>(a);
          auto second = dyn_cast<AffineDimExpr>(b);
          return first && second && first.getPosition() < second.getPosition();
        }))
      return false;
    read += *bytes;
  }
  std::optional<int64_t> stored = countBytes(producer.getResult(0));
  return stored && read <= *stored &&
         llvm::all_of(producer->getUses(), [](OpOperand &use) {
           return isShape(use) || shouldFuse(use);
         });
}

/// Merges what the bodies that were fused have in common: without it, a value
/// that is used twice in each of n steps would be computed 2^n times.
static void shareSubexpressions(PatternRewriter &rewriter,
                                linalg::GenericOp op) {
  SmallVector<OpOperand *> inputs = op.getDpsInputOperands();
  for (OpOperand *input : inputs)
    for (OpOperand *earlier :
         ArrayRef(inputs).take_front(input->getOperandNumber()))
      if (earlier->get() == input->get() &&
          op.getMatchingIndexingMap(earlier) ==
              op.getMatchingIndexingMap(input)) {
        rewriter.replaceAllUsesWith(op.getMatchingBlockArgument(input),
                                    op.getMatchingBlockArgument(earlier));
        break;
      }
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op);
}

namespace {

struct FuseProducer : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp consumer,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : consumer->getOpOperands()) {
      if (!shouldFuse(operand))
        continue;
      Operation *producer = operand.get().getDefiningOp();
      bool computesAll =
          readsOnce(operand) &&
          !isBetterComputedAgain(cast<linalg::GenericOp>(producer));
      SmallPtrSet<Operation *, 4> usersBefore;
      if (computesAll)
        usersBefore = findUsersBefore(consumer, producer);
      FailureOr<linalg::ElementwiseOpFusionResult> fused =
          linalg::fuseElementwiseOps(rewriter, &operand);
      if (failed(fused))
        continue;
      LDBG() << "the loops at " << shoal::sourcePlace(producer->getLoc())
             << " go into those at " << shoal::sourcePlace(consumer.getLoc())
             << (producer->hasOneUse() ? ""
                 : computesAll         ? ", for all their readers"
                                       : ", and into others again");
      ++numProducers;
      // The fused op stands where the consumer does. It yields the producer's
      // value as well where that has other users; those behind it read it from
      // there. Where the consumer reads single elements, the rest of that value
      // was never computed.
      for (auto [before, after] : fused->replacements) {
        if (before.getDefiningOp() == consumer)
          rewriter.replaceAllUsesWith(before, after);
        else if (computesAll)
          rewriter.replaceUsesWithIf(before, after, [&](OpOperand &use) {
            Operation *user =
                producer->getBlock()->findAncestorOpInBlock(*use.getOwner());
            return user != consumer && user != fused->fusedOp &&
                   !usersBefore.contains(user);
          });
      }
      if (producer->use_empty())
        rewriter.eraseOp(producer);
      rewriter.eraseOp(consumer);
      shareSubexpressions(rewriter, cast<linalg::GenericOp>(fused->fusedOp));
      return success();
    }
    return failure();
  }
};

struct FuseElementwise : shoal::impl::FuseElementwiseBase<FuseElementwise> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseProducer>(&getContext());
    // For its patterns that fold constants and fills into generic ops.
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [](OpOperand *) { return false; });
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::populateConstantFoldLinalgOperations(
        patterns, [](OpOperand *) { return false; });
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    // Upwards: consumers first would fuse a producer into its last user.
    if (failed(applyPatternsGreedily(
            getOperation(), std::move(patterns),
            GreedyRewriteConfig().setUseTopDownTraversal(true))))
      return signalPassFailure();
  }
};

} // namespace

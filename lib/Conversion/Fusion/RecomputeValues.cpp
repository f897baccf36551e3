// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-recompute-values.

#include "LiveValues.h"
#include "ScalarCost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-recompute-values"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_RECOMPUTEVALUES
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numRecomputed(DEBUG_TYPE, "Values computed again");
static PassCounter numPeaks(DEBUG_TYPE, "Places where most was held");

/// Scalar operations of a value that is computed again, at most.
static constexpr unsigned kMaxOpsAgain = 6;

/// Places that are looked at; behind them little is to be gained.
static constexpr unsigned kMaxPeaks = 16;

/// A value is worth it that is at least such a part of all that is held.
static constexpr int64_t kLeastPartOfHeld = 64;

//===----------------------------------------------------------------------===//
// A value computed again
//===----------------------------------------------------------------------===//

/// Whether each iteration computes an element of the result, and no sum.
static bool isElementwise(linalg::GenericOp op, OpResult result) {
  return op.getIndexingMapMatchingResult(result).isPermutation();
}

namespace {

/// How an elementwise result of an op is computed from what is held at a place
/// behind it.
class Recipe {
public:
  Recipe(linalg::GenericOp op, OpResult result, const LiveValues &lives,
         int64_t place)
      : op(op), result(result), lives(lives), place(place) {
    isKnown = collect(valueOf(result.getResultNumber()));
  }

  explicit operator bool() const { return isKnown; }

  /// The value, computed where the builder stands.
  Value create(OpBuilder &builder);

private:
  Value valueOf(unsigned number) {
    return op.getBody()->getTerminator()->getOperand(number);
  }
  bool isHeld(Value value) const { return lives.lastUse(value) >= place; }
  bool collect(Value scalar);
  bool read(Value scalar, Value tensor, AffineMap map);
  bool readOtherResult(Value scalar);

  linalg::GenericOp op;
  OpResult result;
  const LiveValues &lives;
  int64_t place;
  bool isKnown = false;
  /// What is read: the scalar that stands for it in the body, the tensor.
  SmallVector<std::pair<Value, Value>> reads;
  SmallVector<AffineMap> maps;
  llvm::SetVector<Operation *> scalarOps;
};

} // namespace

bool Recipe::read(Value scalar, Value tensor, AffineMap map) {
  if (!llvm::is_contained(llvm::make_first_range(reads), scalar)) {
    reads.emplace_back(scalar, tensor);
    maps.push_back(map);
  }
  return true;
}

/// By another result that is the scalar, if there is one.
bool Recipe::readOtherResult(Value scalar) {
  for (OpResult other : op->getResults())
    if (other != result && valueOf(other.getResultNumber()) == scalar &&
        isElementwise(op, other) && isHeld(other))
      return read(scalar, other, op.getIndexingMapMatchingResult(other));
  return false;
}

bool Recipe::collect(Value scalar) {
  if (scalarOps.contains(scalar.getDefiningOp()) || readOtherResult(scalar))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    if (argument.getOwner() != op.getBody())
      return true; // known to all of the block
    OpOperand *operand = op.getMatchingOpOperand(argument);
    Value tensor = operand->get();
    // To hold a row for a matrix is worth it.
    bool isSmall = bytesOf(tensor) * 8 <= bytesOf(result);
    return op.isDpsInput(operand) && (isSmall || isHeld(tensor)) &&
           read(scalar, tensor, op.getMatchingIndexingMap(operand));
  }
  Operation *maker = scalar.getDefiningOp();
  if (maker->getBlock() != op.getBody())
    return true;
  if (isExpensive(*maker) || maker->getNumRegions() != 0)
    return false;
  for (Value operand : maker->getOperands())
    if (!collect(operand))
      return false;
  scalarOps.insert(maker);
  return scalarOps.size() <= kMaxOpsAgain;
}

Value Recipe::create(OpBuilder &builder) {
  auto type = cast<RankedTensorType>(result.getType());
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(op.getIndexingMapMatchingResult(result));
  auto inputs = llvm::to_vector(llvm::make_second_range(reads));
  auto again = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(empty.getType()), inputs, empty, allMaps,
      SmallVector<utils::IteratorType>(op.getNumLoops(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        IRMapping mapping;
        for (auto [number, read] : llvm::enumerate(reads))
          mapping.map(read.first, arguments[number]);
        for (Operation *scalarOp : scalarOps)
          body.clone(*scalarOp, mapping);
        linalg::YieldOp::create(
            body, loc,
            mapping.lookupOrDefault(valueOf(result.getResultNumber())));
      });
  return again.getResult(0);
}

/// Whether what is computed for the use alone becomes a part of the user's
/// loops.
static bool canJoin(OpOperand &use) {
  auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
  return user && user.isDpsInput(&use) &&
         user.getMatchingIndexingMap(&use).isPermutation();
}

/// Computes the value again for those that use it behind `peak`, or there if it
/// becomes a part of them, so that it is not held there. False where that does
/// not end its life before.
static bool recompute(OpResult value, const LiveValues &lives, int64_t peak) {
  auto op = dyn_cast<linalg::GenericOp>(value.getOwner());
  if (!op || !isElementwise(op, value))
    return false;
  SmallVector<std::pair<OpOperand *, Recipe>> late;
  for (OpOperand &use : value.getUses()) {
    int64_t place = lives.placeOf(use.getOwner());
    if ((place == peak && !canJoin(use)) || isa<func::ReturnOp>(use.getOwner()))
      return false;
    if (place < peak)
      continue;
    late.emplace_back(&use, Recipe(op, value, lives, place));
    if (!late.back().second)
      return false;
  }
  for (auto &[use, recipe] : late) {
    Operation *user = op->getBlock()->findAncestorOpInBlock(*use->getOwner());
    OpBuilder builder(user);
    use->set(recipe.create(builder));
  }
  LDBG() << late.size() << " users of a result of the op at "
         << sourcePlace(op.getLoc()) << " compute it again";
  ++numRecomputed;
  return !late.empty();
}

/// Reshapes cost nothing: each use has its own, in front of it.
static void moveReshapesToUses(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isReshape(&op))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses())) {
      OpBuilder builder(block.findAncestorOpInBlock(*use.getOwner()));
      use.set(builder.clone(op)->getResult(0));
    }
    op.erase();
  }
}

/// Lowers what is held at the place where that is most; false where nothing
/// can.
static bool lowerPeak(Block &block) {
  LiveValues lives(block);
  auto [peak, held] = lives.findPeak();
  ++numPeaks;
  SmallVector<OpResult> values;
  for (Operation &op : block)
    for (OpResult result : op.getResults())
      if (lives.placeOf(&op) < peak && lives.lastUse(result) >= peak &&
          bytesOf(result) * kLeastPartOfHeld >= held)
        values.push_back(result);
  LDBG() << held << " bytes are held at most, " << values.size()
         << " large values beyond the op there";
  // Places of new ops are not known: what they alone use counts as not held.
  bool isChanged = false;
  for (OpResult value : values)
    isChanged |= recompute(value, lives, peak);
  return isChanged;
}

namespace {

struct RecomputeValues : shoal::impl::RecomputeValuesBase<RecomputeValues> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.isPublic() || !func.getBody().hasOneBlock())
      return;
    moveReshapesToUses(func.front());
    for (unsigned i = 0; i < kMaxPeaks && lowerPeak(func.front()); ++i) {
    }
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-read-results.

#include "../Utils/HeldValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-read-results"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_READRESULTS
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

static shoal::PassCounter numRead(DEBUG_TYPE,
                                  "Readers of what another op stored");

using Predicate = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// What a result says of the value that it was computed from
//===----------------------------------------------------------------------===//

static bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  Attribute first, second;
  return matchPattern(a, m_Constant(&first)) &&
         matchPattern(b, m_Constant(&second)) && first == second;
}

/// Whether `again` does of `value` what `op` does of `argument`.
static bool isAgain(Operation *op, Value argument, Operation *again,
                    Value value) {
  return op->getName() == again->getName() &&
         op->getAttrs() == again->getAttrs() &&
         llvm::all_of(llvm::zip_equal(op->getOperands(), again->getOperands()),
                      [&](auto operands) {
                        auto [own, other] = operands;
                        return own == argument ? other == value
                                               : isSame(own, other);
                      });
}

/// Whether `x > c` is `max(x, c) > c`, and the like: NaN is NaN in both.
static bool holdsOfMaximum(Predicate predicate) {
  return predicate == Predicate::OGT || predicate == Predicate::OLE ||
         predicate == Predicate::UGT || predicate == Predicate::ULE;
}

static bool holdsOfMinimum(Predicate predicate) {
  return predicate == Predicate::OLT || predicate == Predicate::OGE ||
         predicate == Predicate::ULT || predicate == Predicate::UGE;
}

/// Whether `user`, of `value`, compares it with the constant of which `op` has
/// the maximum or minimum with `argument`, and may as well compare that.
static bool comparesBound(Operation *op, Value argument, Operation *user,
                          Value value) {
  auto comparison = dyn_cast<arith::CmpFOp>(user);
  if (!comparison || comparison.getLhs() != value)
    return false;
  Predicate predicate = comparison.getPredicate();
  bool holds = isa<arith::MaximumFOp>(op)
                   ? holdsOfMaximum(predicate)
                   : isa<arith::MinimumFOp>(op) && holdsOfMinimum(predicate);
  return holds && isSame(op->getOperand(op->getOperand(0) == argument),
                         comparison.getRhs());
}

//===----------------------------------------------------------------------===//
// Results and readers
//===----------------------------------------------------------------------===//

namespace {

/// An elementwise result that is one operation of a value.
struct StoredResult {
  Value tensor;
  Operation *scalarOp;
  BlockArgument argument;
  /// From places of the value to those of the result.
  AffineMap map;
};

} // namespace

/// The result of `op` that is one operation of what it reads by `input`, and no
/// larger.
static std::optional<StoredResult> findResult(OpOperand &input) {
  auto op = cast<linalg::GenericOp>(input.getOwner());
  BlockArgument argument = op.getMatchingBlockArgument(&input);
  for (OpResult result : op->getResults()) {
    unsigned number = result.getResultNumber();
    Operation *scalarOp =
        op.getBody()->getTerminator()->getOperand(number).getDefiningOp();
    AffineMap map = op.getIndexingMapMatchingResult(result);
    bool isStored =
        scalarOp && scalarOp->getBlock() == op.getBody() &&
        map.isPermutation() && scalarOp->getNumRegions() == 0 &&
        llvm::all_of(scalarOp->getOperands(), [&](Value operand) {
          return operand == argument || matchPattern(operand, m_Constant());
        });
    bool fits =
        shoal::bytesOf(result) > 0 &&
        getElementTypeOrSelf(result) == getElementTypeOrSelf(input.get());
    if (isStored && fits)
      return StoredResult{
          result, scalarOp, argument,
          map.compose(inversePermutation(op.getMatchingIndexingMap(&input)))};
  }
  return std::nullopt;
}

/// The generic op that reads each element of a value once.
static linalg::GenericOp readerOf(OpOperand &use) {
  auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
  bool readsOnce = op && op.isDpsInput(&use) &&
                   op.getMatchingIndexingMap(&use).isPermutation();
  return readsOnce ? op : linalg::GenericOp();
}

/// Whether the reader needs no more of the value than the result says.
static bool suffices(const StoredResult &result, OpOperand &use) {
  linalg::GenericOp reader = readerOf(use);
  if (!reader)
    return false;
  BlockArgument value = reader.getMatchingBlockArgument(&use);
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isAgain(result.scalarOp, result.argument, user, value) ||
           comparesBound(result.scalarOp, result.argument, user, value);
  });
}

static void readInstead(const StoredResult &result, OpOperand &use) {
  auto reader = cast<linalg::GenericOp>(use.getOwner());
  BlockArgument value = reader.getMatchingBlockArgument(&use);
  // Once each, as of x * x, which is two users.
  llvm::SetVector<Operation *> users(value.user_begin(), value.user_end());
  for (Operation *user : users) {
    if (!isAgain(result.scalarOp, result.argument, user, value))
      continue;
    user->replaceAllUsesWith(ValueRange(value));
    user->erase();
  }
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  AffineMap &map = maps[use.getOperandNumber()];
  map = result.map.compose(map);
  reader.setIndexingMapsAttr(Builder(reader).getAffineMapArrayAttr(maps));
  use.set(result.tensor);
  LDBG() << "the op at " << shoal::sourcePlace(reader.getLoc())
         << " reads what that at "
         << shoal::sourcePlace(result.scalarOp->getLoc()) << " stored";
  ++numRead;
}

/// All readers behind the op of `use` read its result instead of the value, if
/// all can: the value need not be held for them.
static void readResult(OpOperand &use) {
  linalg::GenericOp maker = readerOf(use);
  std::optional<StoredResult> result;
  if (maker)
    result = findResult(use);
  if (!result)
    return;
  SmallVector<OpOperand *> later;
  for (OpOperand &other : use.get().getUses()) {
    Operation *user =
        maker->getBlock()->findAncestorOpInBlock(*other.getOwner());
    if (!user)
      return;
    if (user == maker || user->isBeforeInBlock(maker))
      continue;
    if (user != other.getOwner() || !suffices(*result, other))
      return;
    later.push_back(&other);
  }
  for (OpOperand *other : later)
    readInstead(*result, *other);
}

namespace {

struct ReadResults : shoal::impl::ReadResultsBase<ReadResults> {
  void runOnOperation() override {
    getOperation().walk([](linalg::GenericOp op) {
      for (OpOperand *input : op.getDpsInputOperands())
        if (input->get().getDefiningOp())
          readResult(*input);
    });
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-order-ops.

#include "LiveValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Conversion/Fusion/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"
#include <optional>

#define DEBUG_TYPE "shoal-order-ops"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_ORDEROPS
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numMoved(DEBUG_TYPE, "Ops that are run later");

/// What is smaller than such a part of all that is held stays where it is.
static constexpr int64_t kLeastPartOfPeak = 64;

/// What the use's op makes of a part of the value, or of all of it, without
/// memory of its own; null of other ops.
static Value viewOrSliceBy(OpOperand &use) {
  if (isa<tensor::ExtractSliceOp>(use.getOwner()))
    return use.getOwner()->getResult(0);
  return viewBy(use);
}

/// Whether the op may write a result over an operand of that size.
static bool writesOver(Operation *op, int64_t bytes) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumParallelLoops() == generic.getNumLoops() &&
         llvm::any_of(generic->getResults(),
                      [&](Value result) { return bytesOf(result) == bytes; });
}

/// Whether the op only computes: when it runs matters to nobody but those who
/// read its results. Collectives keep their places.
static bool isMovable(Operation *op) {
  if (op->getNumResults() == 0 || !isMemoryEffectFree(op))
    return false;
  auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
  return call ? !call.getCollectiveNumber() && !isa<rt::CustomCallOp>(op)
              : isa<linalg::LinalgOp>(op);
}

namespace {

/// A new order of a block's ops: each has a place, and those of one place stand
/// as they stood before.
class BlockOrder {
public:
  explicit BlockOrder(Block &block);
  /// Chooses places from the last op to the first: readers have theirs.
  void choose();
  void apply();

private:
  /// The place of the last that reads the value, or a view of it, but for
  /// `reader` itself; nothing where nobody else does.
  std::optional<size_t> lastReader(Value value, Operation *reader) const;
  std::optional<size_t> firstReader(Operation *op) const;
  std::optional<int64_t> heldLonger(Operation *op, size_t until) const;
  bool gains(Operation *op, size_t later) const;
  /// The op that was at the place from the beginning: all that moves goes to
  /// the place of one that stays.
  Operation *opAt(size_t place) const { return ops[place]; }
  size_t placeOf(Operation *op) const {
    return places[numbers.lookup(block.findAncestorOpInBlock(*op))];
  }

  Block &block;
  int64_t leastBytes;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> numbers;
  SmallVector<size_t> places;
};

} // namespace

BlockOrder::BlockOrder(Block &block)
    : block(block),
      leastBytes(LiveValues(block).findPeak().second / kLeastPartOfPeak) {
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    places.push_back(ops.size());
    ops.push_back(&op);
  }
}

std::optional<size_t> BlockOrder::lastReader(Value value,
                                             Operation *reader) const {
  std::optional<size_t> last;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    std::optional<size_t> place;
    if (Value view = viewOrSliceBy(use))
      place = lastReader(view, reader);
    else if (block.findAncestorOpInBlock(*user) != reader)
      place = placeOf(user);
    last = std::max(last, place);
  }
  return last;
}

std::optional<size_t> BlockOrder::firstReader(Operation *op) const {
  std::optional<size_t> first;
  for (Operation *user : op->getUsers())
    first = std::min(first.value_or(ops.size()), placeOf(user));
  return first;
}

/// The value of which `value` is a view.
static Value withoutViews(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *maker = result.getOwner();
    unsigned number = result.getResultNumber();
    if (number >= maker->getNumOperands() ||
        viewOrSliceBy(maker->getOpOperand(number)) != value)
      break;
    value = maker->getOperand(number);
  }
  return value;
}

/// Bytes of operands that are held longer if the op runs at `until`; nothing
/// where it must not: it would be the last to read what others write over, as
/// donated arguments and values that a loop carries.
std::optional<int64_t> BlockOrder::heldLonger(Operation *op,
                                              size_t until) const {
  llvm::SetVector<Value> read, operands(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), operands);
  for (Value operand : operands)
    read.insert(withoutViews(operand));
  int64_t bytes = 0;
  for (Value value : read) {
    if (value.getParentBlock() != &block)
      continue; // it is there as long as the block runs
    Operation *maker = value.getDefiningOp();
    if (maker && (holdsNothing(maker) || isa<linalg::FillOp>(maker)))
      continue;
    std::optional<size_t> last = lastReader(value, op);
    if (last && *last >= until)
      continue;
    // Who reads the value last now, behind the op, may write over it.
    bool isReused =
        last && *last > placeOf(op) && writesOver(opAt(*last), bytesOf(value));
    if (maker)
      bytes += (isReused ? 2 : 1) * bytesOf(value);
    else if (!isa<func::FuncOp>(block.getParentOp()) ||
             isDonated(cast<BlockArgument>(value)))
      return std::nullopt;
  }
  return bytes;
}

/// Whether less is held at each place up to `later` if the op runs there.
bool BlockOrder::gains(Operation *op, size_t later) const {
  int64_t made = 0;
  for (Value result : op->getResults())
    made += bytesOf(result);
  if (made == 0 || made < leastBytes)
    return false;
  std::optional<int64_t> longer = heldLonger(op, later);
  return longer && *longer < made;
}

void BlockOrder::choose() {
  for (Operation *op : llvm::reverse(ops)) {
    std::optional<size_t> later = firstReader(op);
    size_t &place = places[numbers.lookup(op)];
    if (!later || *later <= place)
      continue;
    bool moves = holdsNothing(op) || isa<linalg::FillOp>(op);
    if (!moves && *later > place + 1 && isMovable(op) && gains(op, *later)) {
      moves = true;
      ++numMoved;
      LDBG() << "the op at " << sourcePlace(op->getLoc()) << " runs later";
    }
    if (moves)
      place = *later;
  }
}

void BlockOrder::apply() {
  SmallVector<std::pair<size_t, size_t>> ordered;
  for (auto [number, place] : llvm::enumerate(places))
    ordered.emplace_back(place, number);
  llvm::sort(ordered);
  for (auto [place, number] : ordered)
    ops[number]->moveBefore(&block, block.end());
}

namespace {

struct OrderOps : shoal::impl::OrderOpsBase<OrderOps> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.isPublic())
      return;
    SmallVector<Block *> blocks;
    func.walk([&](Block *block) {
      if (!isa<linalg::LinalgOp>(block->getParentOp()) &&
          block->mightHaveTerminator())
        blocks.push_back(block);
    });
    for (Block *block : blocks) {
      BlockOrder order(*block);
      order.choose();
      order.apply();
    }
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HeldBytes.h"
#include "Packing.h"
#include "SpmdFunctions.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Collectives/Uniformity.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-combine-collectives"

using namespace mlir;
using namespace shoal;

static PassCounter numMessages(DEBUG_TYPE, "Messages made of several");
static PassCounter numCombined(DEBUG_TYPE, "Collectives that went into them");

namespace {

using Ops = SmallVector<Operation *>;

/// What the parts of a message have to share: what packingKey says and, of
/// those that a choice depends on, the axes that they vary over. A message
/// varies wherever one of its parts does, and a choice between collectives may
/// not.
using PartKey = std::pair<Attribute, Attribute>;

/// What choices between regions that hold collectives depend on.
class ChoiceSources {
public:
  ChoiceSources(func::FuncOp function, const Mesh &mesh);

  /// The axes that the collective's result varies over, where a choice depends
  /// on it; else nothing.
  Attribute axesFor(Operation *collective) const;

private:
  Uniformity uniformity;
  llvm::SetVector<Value> values;
};

/// Combines the collectives of one block.
class BlockCombiner {
public:
  BlockCombiner(Block &block, const ChoiceSources &sources, int64_t maxBytes)
      : block(block), sources(sources), maxBytes(maxBytes) {}

  void run();

private:
  unsigned depthOf(Operation *op) const;
  size_t countFitting(ArrayRef<Operation *> ops,
                      std::optional<HeldBytes> &held) const;
  void combine(ArrayRef<Operation *> ops);
  void combineUpToLimit(Ops &ops);
  void moveUsersBehind(ArrayRef<Operation *> ops, Operation *last);

  Block &block;
  const ChoiceSources &sources;
  int64_t maxBytes;
  /// The most collectives on a way to a value of this block. Those of equal
  /// depth do not depend on each other, and no combination of such makes a
  /// cycle: dependences go from lower to higher depth.
  llvm::DenseMap<Value, unsigned> depths;
};

} // namespace

static bool holdsCollective(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        auto collective = dyn_cast<spmd::CollectiveOpInterface>(inner);
        return (collective && collective.communicates()) ||
                       isa<CallOpInterface>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

ChoiceSources::ChoiceSources(func::FuncOp function, const Mesh &mesh)
    : uniformity(function, mesh) {
  function.walk([&](Operation *op) {
    if (op == function || op->getNumRegions() == 0 || !holdsCollective(op))
      return;
    SmallVector<Value> choosers = Uniformity::choosers(op);
    values.insert(choosers.begin(), choosers.end());
  });
  for (size_t i = 0; i < values.size(); ++i) {
    SmallVector<Value> sources = uniformity.sourcesOf(values[i]);
    values.insert(sources.begin(), sources.end());
  }
}

Attribute ChoiceSources::axesFor(Operation *collective) const {
  Value result = collective->getResult(0);
  if (!values.contains(result))
    return nullptr;
  AxisSet axes = uniformity.varyingAxes(result);
  SmallVector<int64_t> list(axes.set_bits_begin(), axes.set_bits_end());
  return DenseI64ArrayAttr::get(collective->getContext(), list);
}

unsigned BlockCombiner::depthOf(Operation *op) const {
  unsigned depth = 0;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      depth = std::max(depth, depths.lookup(operand));
  });
  return depth;
}

/// The larger of what goes in and what comes out.
static int64_t bytesOf(Operation *op) {
  return std::max(sizeInBytes(op->getOperand(0).getType()),
                  sizeInBytes(op->getResult(0).getType()));
}

/// Users of `ops`, and their users, that stand before `last`, go behind it in
/// the order they have.
void BlockCombiner::moveUsersBehind(ArrayRef<Operation *> ops,
                                    Operation *last) {
  llvm::DenseSet<Operation *> late(llvm::from_range, ops);
  auto readsLate = [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(),
                              [&](Value operand) {
                                return late.contains(operand.getDefiningOp());
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  Operation *behind = last;
  for (Operation *op = ops[0]; op != last;) {
    Operation *next = op->getNextNode();
    if (readsLate(op)) {
      late.insert(op);
      op->moveAfter(behind);
      behind = op;
    }
    op = next;
  }
}

void BlockCombiner::combine(ArrayRef<Operation *> ops) {
  LDBG() << ops.size() << " " << ops[0]->getName() << ", the last at "
         << ops.back()->getLoc();
  ++numMessages;
  numCombined += ops.size();
  moveUsersBehind(ops, ops.back());
  for (auto [op, value] : llvm::zip_equal(ops, pack(ops))) {
    copyLayoutNote(op->getResult(0), value);
    op->replaceAllUsesWith(ValueRange(value));
  }
  for (Operation *op : ops)
    op->erase();
}

/// How many of `ops`, from the first on, may be one message. Of gathers the
/// message is held beside their results, which were made where they are used:
/// that must not be where most is held. `held` is of the block as it is, or
/// nothing where that is not known.
size_t BlockCombiner::countFitting(ArrayRef<Operation *> ops,
                                   std::optional<HeldBytes> &held) const {
  bool areGathers = isa<spmd::AllGatherOp>(ops[0]);
  if (areGathers && !held)
    held.emplace(block);
  llvm::DenseSet<Operation *> parts;
  int64_t bytes = 0;
  for (auto [count, op] : llvm::enumerate(ops)) {
    bytes += bytesOf(op);
    parts.insert(op);
    if (bytes > maxBytes ||
        (areGathers && 2 * bytes + held->at(op, parts) > held->most()))
      return count;
  }
  return ops.size();
}

void BlockCombiner::combineUpToLimit(Ops &ops) {
  // Earlier combinations may have moved them.
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  std::optional<HeldBytes> held;
  for (ArrayRef<Operation *> left = ops; !left.empty();) {
    size_t count = std::max<size_t>(countFitting(left, held), 1);
    if (count > 1) {
      combine(left.take_front(count));
      held.reset();
    }
    left = left.drop_front(count);
  }
}

void BlockCombiner::run() {
  std::map<unsigned, llvm::MapVector<PartKey, Ops>> levels;
  for (Operation &op : block) {
    unsigned depth = depthOf(&op);
    if (Attribute key = packingKey(&op); key && bytesOf(&op) <= maxBytes)
      levels[depth][{key, sources.axesFor(&op)}].push_back(&op);
    depth += holdsCollective(&op);
    for (Value result : op.getResults())
      depths[result] = depth;
  }
  for (auto &[depth, groups] : levels)
    for (auto &[key, ops] : groups)
      combineUpToLimit(ops);
}

namespace {

struct CombineCollectives
    : shoal::impl::CombineCollectivesBase<CombineCollectives> {
  using CombineCollectivesBase::CombineCollectivesBase;

  void runOnOperation() override {
    if (maxBytes <= 0)
      return;
    for (func::FuncOp function : spmdFunctions(getOperation())) {
      const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
      if (!mesh)
        return signalPassFailure();
      combine(function, ChoiceSources(function, *mesh));
    }
  }

  void combine(func::FuncOp function, const ChoiceSources &sources) {
    SmallVector<Block *> blocks;
    function.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      BlockCombiner(*block, sources, maxBytes).run();
  }
};

} // namespace

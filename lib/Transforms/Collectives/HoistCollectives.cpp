// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_HOISTCOLLECTIVES
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-hoist-collectives"

using namespace mlir;
using namespace shoal;

static PassCounter numHoisted(DEBUG_TYPE, "Collectives taken out of loops");

/// What comes to each argument and result of an op with regions.
using Sources = RegionBranchInverseSuccessorMapping;

static Sources findSources(Operation *op) {
  Sources sources;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    branch.getSuccessorInputOperandMapping(sources);
  else if (auto join = dyn_cast<JoinOpInterface>(op))
    for (const Join &same : join.getJoins())
      for (Value value : same.values)
        sources[value].assign(same.sources.begin(), same.sources.end());
  return sources;
}

/// Whether what a region of the op yields comes back to this one.
static bool isRepetitive(Region &region, const Sources &sources) {
  Operation *op = region.getParentOp();
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return branch.isRepetitiveRegion(region.getRegionNumber());
  return llvm::any_of(region.getArguments(), [&](Value argument) {
    auto it = sources.find(argument);
    return it != sources.end() &&
           llvm::any_of(it->second, [&](OpOperand *source) {
             return source->getOwner() != op;
           });
  });
}

namespace {

/// Takes collectives out of the regions of one loop.
class LoopHoister {
public:
  explicit LoopHoister(Operation *loop)
      : loop(loop), sources(findSources(loop)) {}

  void run();

private:
  bool isOutside(Value value) const {
    return !loop->isProperAncestor(value.getParentBlock()->getParentOp()) &&
           value.getParentBlock()->getParentOp() != loop;
  }
  Value findInvariant(Value value, llvm::DenseSet<Value> &seen) const;
  Value invariantOf(Value value) const {
    llvm::DenseSet<Value> seen;
    return findInvariant(value, seen);
  }
  bool canHoist(Operation *op) const;
  void hoist(Operation *op);

  Operation *loop;
  Sources sources;
};

} // namespace

/// The value from outside that a value of the loop always equals: itself, or,
/// for an argument, the only value that ever comes in from outside while
/// iterations pass it on unchanged. Null where there is none, or for an
/// argument already being looked at.
Value LoopHoister::findInvariant(Value value,
                                 llvm::DenseSet<Value> &seen) const {
  if (isOutside(value))
    return value;
  auto it = sources.find(value);
  if (it == sources.end() || !isa<BlockArgument>(value))
    return {};
  seen.insert(value);
  Value invariant;
  for (OpOperand *source : it->second) {
    if (seen.contains(source->get()))
      continue;
    Value from = findInvariant(source->get(), seen);
    if (!from || (invariant && from != invariant))
      return {};
    invariant = from;
  }
  return invariant;
}

/// Whether the op, with what it reads, may be computed before the loop.
bool LoopHoister::canHoist(Operation *op) const {
  if (op->getNumRegions() > 0 || !isMemoryEffectFree(op) ||
      op->getParentOp() != loop)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return invariantOf(operand) ||
           (operand.getDefiningOp() && canHoist(operand.getDefiningOp()));
  });
}

void LoopHoister::hoist(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (Value invariant = invariantOf(operand.get()))
      operand.set(invariant);
    else
      hoist(operand.get().getDefiningOp());
  }
  op->moveBefore(loop);
}

void LoopHoister::run() {
  for (Region &region : loop->getRegions()) {
    if (!isRepetitive(region, sources))
      continue;
    SmallVector<spmd::CollectiveOpInterface> collectives;
    for (auto op : region.getOps<spmd::CollectiveOpInterface>())
      if (op.communicates())
        collectives.push_back(op);
    for (spmd::CollectiveOpInterface op : collectives) {
      bool isInvariant = canHoist(op);
      LDBG() << op->getName() << " at " << op->getLoc() << " in "
             << loop->getName()
             << (isInvariant ? " is done before it" : " stays in it");
      if (!isInvariant)
        continue;
      ++numHoisted;
      hoist(op);
    }
  }
}

namespace {

struct HoistCollectives : shoal::impl::HoistCollectivesBase<HoistCollectives> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(kSpmdAttr))
      return;
    // Inner loops first: what leaves them may leave the outer ones too.
    getOperation()->walk([](Operation *op) {
      if (isa<RegionBranchOpInterface, JoinOpInterface>(op))
        LoopHoister(op).run();
    });
  }
};

} // namespace

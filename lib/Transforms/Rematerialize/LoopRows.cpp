// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopRows.h"
#include "Cut.h"
#include "Policies.h"
#include "ReversedLoops.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/CostModel/ProgramCost.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

namespace {

/// The body of a loop as a graph whose last op stands for the other loop.
class RowProblem {
public:
  RowProblem(ReversedLoop &loop, const Machine &machine);

  Cut solve(const RematerializePolicy &policy, double price);
  /// Whether the cut computes the stack's value again.
  bool isDropped(const Stack &stack, const Cut &cut) const;
  /// Whether to compute the stack's value again costs nothing.
  bool isFree(const Stack &stack) const {
    Operation *maker = stack.value.getDefiningOp();
    return maker && isSliceOfInvariant(maker);
  }

private:
  unsigned idOf(mlir::Value value);
  void addOp(Operation &op);
  bool isThere(unsigned value) const;
  bool isSliceOfInvariant(Operation *op) const;
  void limitToKnown();

  ReversedLoop &loop;
  const Machine &machine;
  ExtractedStep step;
  llvm::DenseMap<mlir::Value, unsigned> ids;
  llvm::DenseMap<mlir::Value, int64_t> stacked;
};

} // namespace

RowProblem::RowProblem(ReversedLoop &loop, const Machine &machine)
    : loop(loop), machine(machine) {
  for (const Stack &stack : loop.stacks)
    stacked[stack.value] = sizeInBytes(stack.row.getType()) * loop.trips;
  for (Operation &op : loop.forwardBody().without_terminator())
    addOp(op);
  GraphOp backward;
  backward.isBackward = true;
  for (const Stack &stack : loop.stacks)
    backward.operands.push_back(idOf(stack.value));
  step.graph.addOp(std::move(backward));
}

/// Whether the op's result is a slice of something from around the loop, in
/// whatever form, which is there anyway or no larger than all rows. A step
/// reads a kept row as such a slice as well, so that to keep rows is to write
/// them for nothing: of a scan's weights, all of these.
bool RowProblem::isSliceOfInvariant(Operation *op) const {
  while (isa<ViewLikeOpInterface>(op)) {
    Operation *maker = op->getOperand(0).getDefiningOp();
    if (!maker || maker->getBlock() != op->getBlock())
      return false;
    op = maker;
  }
  auto slice = dyn_cast<DynamicSliceOp>(op);
  if (!slice || slice.getInput().getParentBlock() == op->getBlock())
    return false;
  mlir::Value whole = slice.getInput();
  bool isArgument = isa<BlockArgument>(whole) &&
                    isa<func::FuncOp>(whole.getParentBlock()->getParentOp());
  return isArgument || sizeInBytes(slice.getType()) * loop.trips >=
                           sizeInBytes(whole.getType());
}

/// Values that no op of the body makes: of around the loops, counters, and
/// others that are carried, of which only rows are there.
unsigned RowProblem::idOf(mlir::Value value) {
  auto [entry, isNew] = ids.try_emplace(value, step.graph.values.size());
  if (!isNew)
    return entry->second;
  auto argument = dyn_cast<BlockArgument>(value);
  bool isCarried = argument && argument.getOwner() == &loop.forwardBody();
  bool isHeld = !isCarried || (argument.getType() == loop.step.getType() &&
                               countsFrom(loop.forward, argument).has_value());
  return step.graph.addValue(stacked.lookup(value), isHeld);
}

void RowProblem::addOp(Operation &operation) {
  GraphOp op = toGraphOp(&operation, machine);
  op.cost *= double(loop.trips);
  op.sendCost *= double(loop.trips);
  for (mlir::Value operand : operation.getOperands())
    op.operands.push_back(idOf(operand));
  for (mlir::Value result : operation.getResults())
    op.results.push_back(idOf(result));
  for (unsigned result : op.results)
    step.graph.values[result].isHeld = false;
  op.mayRepeat &= operation.getNumRegions() == 0;
  bool hasRows = llvm::any_of(operation.getResults(), [&](mlir::Value result) {
    return stacked.contains(result);
  });
  if (hasRows && op.isView) { // as cheap, but not for nothing: it has memory
    op.isView = false;
    op.cost = 0;
  }
  if (isSliceOfInvariant(&operation))
    op.cost = 0; // beside what reading the row costs
  step.graph.addOp(std::move(op));
  step.ops.push_back(&operation);
}

/// Whether the other loop has the value, or can have it.
bool RowProblem::isThere(unsigned value) const {
  const GraphValue &v = step.graph.values[value];
  return v.isHeld || v.bytes > 0 ||
         (v.maker && step.graph.ops[*v.maker].mayRepeat);
}

/// What has no rows can only be computed again, with an op's results that have
/// some, and slices of invariants; what depends on a value that is not there
/// cannot be.
void RowProblem::limitToKnown() {
  for (auto [op, operation] : llvm::zip(step.graph.ops, step.ops)) {
    op.mayRepeat &= llvm::all_of(
        op.operands, [&](unsigned operand) { return isThere(operand); });
    op.isView &= op.mayRepeat;
    op.isSentAgain = false; // there is one segment, and what it lacks
    op.mustRepeat |= isSliceOfInvariant(operation) ||
                     llvm::all_of(op.results, [&](unsigned value) {
                       return step.graph.values[value].bytes == 0;
                     });
  }
}

Cut RowProblem::solve(const RematerializePolicy &policy, double price) {
  applyPolicies(step, policy);
  limitToKnown();
  Segments all;
  all.ofOp.resize(step.graph.ops.size());
  all.crosses.resize(step.graph.values.size());
  all.needed.resize(1);
  all.countAll(step.graph);
  for (unsigned value : step.graph.ops.back().operands)
    for (unsigned root : rootsOf(step.graph, value))
      if (step.graph.values[root].maker)
        all.needed[0].push_back(root);
  return cutSegment(step.graph, all, 0, price);
}

bool RowProblem::isDropped(const Stack &stack, const Cut &cut) const {
  return llvm::all_of(
      rootsOf(step.graph, ids.at(stack.value)), [&](unsigned root) {
        std::optional<unsigned> maker = step.graph.values[root].maker;
        return maker ? llvm::is_contained(cut.repeated, *maker)
                     : step.graph.values[root].isHeld;
      });
}

DroppedRows shoal::remat::dropRows(func::FuncOp function,
                                   const RematerializePolicy &policy,
                                   const Machine &machine, double price) {
  DroppedRows all;
  for (size_t next = 0;;) {
    // Anew each time: a loop may be one that goes back over another.
    SmallVector<ReversedLoop> loops = findReversedLoops(function);
    if (next >= loops.size())
      return all;
    ReversedLoop &loop = loops[next];
    RowProblem problem(loop, machine);
    Cut cut = problem.solve(policy, price);
    SmallVector<Stack> dropped, kept;
    for (const Stack &stack : loop.stacks)
      (problem.isDropped(stack, cut) ? dropped : kept).push_back(stack);
    next += cut.repeated.empty() || !kept.empty();
    if (cut.repeated.empty() || dropped.empty())
      continue;
    all.cost += cut.cost;
    for (const Stack &stack : dropped)
      if (!problem.isFree(stack)) {
        ++all.count;
        all.bytes += sizeInBytes(stack.row.getType()) * loop.trips;
      }
    dropStacks(loop, dropped, kept);
  }
}

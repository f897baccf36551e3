// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "../Collectives/HeldBytes.h"
#include "Policies.h"
#include "Schedule.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Rematerialize/Rematerialize.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

static double costOf(Operation *op, const Machine &machine) {
  if (isa<JoinOpInterface, BoundaryOpInterface>(op)) {
    double cost = 0;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        cost += costOf(&inner, machine) * weightOf(inner.getBlock()) /
                weightOf(op->getBlock());
    return cost;
  }
  double bytes = 0;
  for (mlir::Value value : op->getOperands())
    bytes += double(tensorBytes(value));
  for (mlir::Value value : op->getResults())
    bytes += double(tensorBytes(value));
  double flops = 0;
  if (auto interface = dyn_cast<FactorRuleOpInterface>(op))
    flops = interface.getFactorRule().flops;
  return flops + bytes * machine.flops / machine.memoryBytes;
}

static double costOfSending(Operation *op, const Machine &machine) {
  auto collective = dyn_cast<spmd::CollectiveOpInterface>(op);
  if (!collective || !collective.communicates())
    return 0;
  return machine.flopsPerLinkByte *
         (double(collective.countBytes()) + latencyBytes(machine));
}

bool shoal::mayRunAgain(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || !isPure(op) ||
      isa<JoinOpInterface, BoundaryOpInterface>(op))
    return false;
  if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op))
    return !collective.communicates();
  if (auto forwarding = dyn_cast<ForwardingOpInterface>(op))
    return forwarding.forwardsOperands();
  return true;
}

/// Whether the window reads rows as they are, but for their numbers.
static bool isShift(const FactorRule::Window &window) {
  const RowMap &map = window.map;
  return map.scale == 1 && map.divisor == 1 && map.low == map.high &&
         !map.wraps;
}

/// Whether the result is rows of an argument that lie side by side, which are
/// read where they are: one row of the first dimensions, some of the next one,
/// all of the others.
static bool isRowsOfArgument(Operation *op, const FactorRule &rule) {
  auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
  auto whole = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto part = cast<RankedTensorType>(op->getResult(0).getType());
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
      !whole || whole.getRank() != part.getRank() ||
      part.getNumElements() >= whole.getNumElements() || rule.flops != 0 ||
      !rule.gathers.empty() || !llvm::all_of(rule.windows, isShift))
    return false;
  for (int64_t dim = 0; dim < part.getRank(); ++dim)
    if (part.getDimSize(dim) != 1 &&
        rule.results[0][dim] != rule.operands[0][dim])
      return false;
  // Behind the first dimension of several rows all are whole.
  auto sizes = llvm::zip_equal(part.getShape(), whole.getShape());
  auto several =
      llvm::find_if(sizes, [](auto pair) { return std::get<0>(pair) != 1; });
  if (several != sizes.end())
    ++several;
  return std::all_of(several, sizes.end(), [](auto pair) {
    return std::get<0>(pair) == std::get<1>(pair);
  });
}

/// Whether the results are operands in another form, or made of few elements or
/// none wherever they are read: nothing is stored for them.
static bool isView(Operation *op) {
  if (auto forwarding = dyn_cast<ForwardingOpInterface>(op))
    return forwarding.forwardsOperands();
  if (op->getNumResults() != 1 || !isPure(op) || op->getNumRegions() != 0)
    return false;
  if (isa<ViewLikeOpInterface>(op))
    return true;
  if (isa<spmd::CollectiveOpInterface>(op))
    return false;
  if (op->getNumOperands() == 0)
    return true;
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  if (!interface || op->getNumOperands() != 1)
    return false;
  FactorRule rule = interface.getFactorRule();
  if (isRowsOfArgument(op, rule))
    return true;
  return tensorBytes(op->getOperand(0)) < tensorBytes(op->getResult(0)) &&
         rule.flops == 0 && rule.windows.empty() && rule.gathers.empty() &&
         rule.isParallel();
}

/// Whether each operand is rows of the result, and all together are it, each
/// dense: nothing in front of the rows' dimension has several.
static bool isJoin(Operation *op) {
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  if (!interface || op->getNumOperands() < 2 || op->getNumResults() != 1)
    return false;
  FactorRule rule = interface.getFactorRule();
  if (rule.flops != 0 || rule.windows.size() != op->getNumOperands() ||
      !llvm::all_of(rule.windows, isShift))
    return false;
  int64_t bytes = 0;
  for (auto [number, window] : llvm::enumerate(rule.windows)) {
    mlir::Value operand = op->getOperand(number);
    auto type = cast<RankedTensorType>(operand.getType());
    if (window.operand != number ||
        llvm::any_of(type.getShape().take_front(window.dim),
                     [](int64_t size) { return size != 1; }))
      return false;
    bytes += tensorBytes(operand);
  }
  return bytes == tensorBytes(op->getResult(0));
}

GraphOp shoal::remat::toGraphOp(Operation *operation, const Machine &machine) {
  GraphOp op;
  op.cost = costOf(operation, machine);
  op.sendCost = costOfSending(operation, machine);
  op.mayRepeat = mayRunAgain(operation);
  op.isView = isView(operation);
  op.isJoin = isJoin(operation);
  op.writesOver = operation->hasTrait<OpTrait::Elementwise>();
  for (Region &region : operation->getRegions())
    for (Block &block : region)
      op.innerBytes = std::max(op.innerBytes, HeldBytes(block).most());
  return op;
}

namespace {

class Extractor {
public:
  Extractor(func::FuncOp function, const Machine &machine)
      : function(function), machine(machine) {}

  ExtractedStep run(const RematerializePolicy &policy);

private:
  void addValue(mlir::Value value, int64_t bytes, bool isHeld);
  void addOp(Operation &op);
  void markResults();
  void markBackward();

  func::FuncOp function;
  const Machine &machine;
  ExtractedStep step;
  llvm::DenseMap<mlir::Value, unsigned> ids;
};

} // namespace

void Extractor::addValue(mlir::Value value, int64_t bytes, bool isHeld) {
  ids[value] = step.graph.addValue(bytes, isHeld);
  step.values.push_back(value);
}

void Extractor::addOp(Operation &operation) {
  GraphOp op = toGraphOp(&operation, machine);
  llvm::SetVector<mlir::Value> read(operation.operand_begin(),
                                    operation.operand_end());
  bool isForwarding = operation.getNumResults() == operation.getNumOperands();
  if (isForwarding) // operand i is result i: a value may be there twice
    for (mlir::Value value : operation.getOperands())
      op.operands.push_back(ids.at(value));
  else
    for (mlir::Value value : read)
      op.operands.push_back(ids.at(value));
  llvm::SetVector<mlir::Value> above;
  getUsedValuesDefinedAbove(operation.getRegions(), above);
  for (mlir::Value value : above)
    if (auto id = ids.find(value); id != ids.end() && !read.contains(value))
      op.operands.push_back(id->second);
  for (mlir::Value result : operation.getResults()) {
    addValue(result, tensorBytes(result), /*isHeld=*/false);
    op.results.push_back(ids.at(result));
  }
  step.graph.addOp(std::move(op));
  step.ops.push_back(&operation);
}

/// What is returned has memory of its own, or that of an argument.
void Extractor::markResults() {
  SmallVector<int64_t> donors = findDonors(function);
  for (OpOperand &operand : function.front().getTerminator()->getOpOperands()) {
    GraphValue &value = step.graph.values[ids.at(operand.get())];
    value.isHeld = true;
    if (donors[operand.getOperandNumber()] >= 0)
      value.bytes = 0;
  }
}

void Extractor::markBackward() {
  Graph &graph = step.graph;
  bool isKnown = false;
  for (auto [op, operation] : llvm::zip_equal(graph.ops, step.ops)) {
    // Constants of gradients may be those of the forward pass, too.
    op.isBackward =
        (operation->getNumOperands() > 0 && isOfGradient(operation)) ||
        llvm::any_of(op.operands, [&](unsigned operand) {
          std::optional<unsigned> maker = graph.values[operand].maker;
          return maker && graph.ops[*maker].isBackward;
        });
    isKnown |= op.isBackward;
  }
  if (!isKnown) {
    Schedule schedule =
        makeSchedule(graph, std::vector<bool>(graph.ops.size()));
    for (unsigned op = schedule.peakStep; op < graph.ops.size(); ++op)
      graph.ops[op].isBackward = true;
  }
  // It reads what is there anyway.
  graph.ops.back().isBackward = false;
}

ExtractedStep Extractor::run(const RematerializePolicy &policy) {
  Block &block = function.front();
  for (BlockArgument argument : block.getArguments()) {
    addValue(argument, tensorBytes(argument), /*isHeld=*/true);
    step.argumentBytes += tensorBytes(argument);
  }
  for (Operation &op : block)
    addOp(op);
  markResults();
  markBackward();
  applyPolicies(step, policy);
  return std::move(step);
}

ExtractedStep shoal::remat::extractStep(func::FuncOp function,
                                        const RematerializePolicy &policy,
                                        const Machine &machine) {
  return Extractor(function, machine).run(policy);
}

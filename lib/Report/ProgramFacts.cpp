// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Report/LiveBuffers.h"
#include "shoal/Transforms/Rematerialize/Rematerialize.h"

using namespace mlir;
using namespace shoal;

static double elementsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? double(type.getNumElements()) : 0;
}

static double costOf(Operation *op) {
  if (auto interface = dyn_cast<FactorRuleOpInterface>(op))
    if (double flops = interface.getFactorRule().flops)
      return flops;
  double elements = 0;
  for (Value result : op->getResults())
    elements += elementsOf(result);
  return elements;
}

/// Whether rows are read in their order, or every so many.
static bool keepsRows(const FactorRule::Window &window) {
  return window.map.divisor == 1 && window.map.low == window.map.high &&
         !window.map.wraps;
}

static bool isCopy(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getNumRegions() != 0 || !isPure(op) ||
      op->hasTrait<OpTrait::Elementwise>())
    return false;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!from || !to || from.getElementType() != to.getElementType() ||
      from.getNumElements() < to.getNumElements())
    return false;
  if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op))
    return !collective.communicates() && !collective.reduces();
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  if (!interface)
    return false;
  FactorRule rule = interface.getFactorRule();
  return rule.flops == 0 && rule.gathers.empty() &&
         llvm::all_of(rule.windows, keepsRows) && rule.isParallel();
}

static int64_t groupOfGather(Operation *op) {
  auto gather = dyn_cast<spmd::AllGatherOp>(op);
  if (!gather)
    return 1;
  MeshOp mesh = lookupMesh(op, gather.getMeshAttr());
  SmallVector<AxisRefAttr> axes = gather.getGroupAxes();
  return mesh ? sizeOf(axes, mesh.getMesh()) : 1;
}

/// The axes of the mesh that nothing of the layout names, of more than one
/// device, into whose parts a dimension can be cut.
static SmallVector<ValueFacts::Spare, 1> findSpares(Operation *op,
                                                    RankedTensorType type,
                                                    ShardingAttr sharding,
                                                    AxesAttr manual) {
  SmallVector<ValueFacts::Spare, 1> spares;
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return spares;
  SmallVector<AxisRefAttr> used(sharding.getPartial());
  for (DimShardingAttr dim : sharding.getDims())
    used.append(dim.getAxes().begin(), dim.getAxes().end());
  if (manual)
    used.append(manual.getAxes().begin(), manual.getAxes().end());
  for (MeshAxisAttr axis : mesh.getMesh().getAxes()) {
    bool isUsed = llvm::any_of(used, [&](AxisRefAttr other) {
      return other.getName() == axis.getName();
    });
    bool canSplit = llvm::any_of(type.getShape(), [&](int64_t size) {
      return size % axis.getSize() == 0;
    });
    if (!isUsed && canSplit && axis.getSize() > 1)
      spares.push_back({axis.getName().str(), axis.getSize()});
  }
  return spares;
}

namespace {

class Extractor {
public:
  explicit Extractor(func::FuncOp func) : func(func) {}

  ProgramFacts run();

private:
  void addBlock(Block &block, bool isInner);
  void addOp(Operation &op, bool isInner);
  int64_t addValue(Value value);
  void noteReaders();

  func::FuncOp func;
  ProgramFacts facts;
  llvm::DenseMap<Value, int64_t> numbers;
};

} // namespace

int64_t Extractor::addValue(Value value) {
  ValueFacts entry;
  if (auto type = dyn_cast<RankedTensorType>(value.getType());
      type && type.hasStaticShape()) {
    entry.bytes = sizeInBytes(type);
    entry.element = type.getElementType();
    auto result = dyn_cast<OpResult>(value);
    if (std::optional<LayoutNote> note =
            result ? getLayoutNote(result) : std::nullopt)
      entry.spares =
          findSpares(result.getOwner(), type, note->sharding, note->manualAxes);
  }
  facts.values.push_back(std::move(entry));
  return numbers[value] = facts.values.size() - 1;
}

void Extractor::addBlock(Block &block, bool isInner) {
  for (Operation &op : block)
    addOp(op, isInner);
}

void Extractor::addOp(Operation &op, bool isInner) {
  int64_t number = facts.ops.size();
  OpFacts &entry = facts.ops[number]; // stays where it is
  entry.name = op.getName().getStringRef();
  entry.place = sourcePlace(op.getLoc());
  for (Value operand : op.getOperands())
    entry.operands.push_back(numbers.lookup(operand));
  for (Value result : op.getResults()) {
    entry.results.push_back(addValue(result));
    facts.values.back().maker = number;
  }
  entry.cost = costOf(&op);
  entry.mayRepeat = mayRunAgain(&op);
  if (auto interface = dyn_cast<FactorRuleOpInterface>(op))
    entry.isProduct = isProduct(interface.getFactorRule());
  entry.isCopy = isCopy(&op);
  entry.gathered = groupOfGather(&op);
  entry.isInner = isInner;
  if (getNumberNote(op.getLoc()) != number)
    noteNumber(&op, number);
  // As in the listing: the body of a reduction is part of the op.
  if (isa<JoinOpInterface>(op))
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        for (BlockArgument argument : block.getArguments())
          addValue(argument);
        addBlock(block, /*isInner=*/true);
      }
}

void Extractor::noteReaders() {
  facts.lastReaders.assign(func.getNumArguments(), -1);
  for (BlockArgument argument : func.getArguments())
    for (Operation *user : argument.getUsers()) {
      int64_t &last = facts.lastReaders[argument.getArgNumber()];
      Operation *listed = user;
      while (!getNumberNote(listed->getLoc()))
        listed = listed->getParentOp();
      last = std::max(last, *getNumberNote(listed->getLoc()));
    }
}

ProgramFacts Extractor::run() {
  for (BlockArgument argument : func.getArguments()) {
    int64_t number = addValue(argument);
    facts.values[number].input = argument.getArgNumber();
  }
  addBlock(func.front(), /*isInner=*/false);
  noteReaders();
  return std::move(facts);
}

ProgramFacts shoal::extractFacts(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      return Extractor(func).run();
  return {};
}

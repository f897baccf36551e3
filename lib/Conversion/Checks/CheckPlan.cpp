// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckPlan.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"

using namespace mlir;
using namespace shoal;

SmallVector<AxisRefAttr> CheckedValue::varyingAxes() const {
  SmallVector<AxisRefAttr> axes(layout.sharding.getPartial());
  if (layout.manualAxes)
    llvm::append_range(axes, layout.manualAxes.getAxes());
  return axes;
}

bool CheckedValue::isFloat() const {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Whether several devices hold the same block of it.
static bool isReplicated(const CheckedValue &value, Operation *user) {
  MeshOp mesh = lookupMesh(user, value.layout.sharding.getMesh());
  if (!mesh)
    return false;
  int64_t blocks = sizeOf(value.varyingAxes(), mesh.getMesh());
  for (DimShardingAttr dim : value.layout.sharding.getDims())
    blocks *= sizeOf(dim.getAxes(), mesh.getMesh());
  return blocks < mesh.getMesh().getNumDevices();
}

//===----------------------------------------------------------------------===//
// Which values
//===----------------------------------------------------------------------===//

CheckPlan::CheckPlan(func::FuncOp function, const Uniformity &uniformity)
    : uniformity(uniformity) {
  addArguments(function);
  addBlock(function.front(), /*isUniform=*/true);
  findSources();
}

void CheckPlan::add(CheckedValue value, bool isUniform) {
  auto type = dyn_cast<RankedTensorType>(value.value.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0 ||
      !rt::findElementType(type) || numbers.contains(value.value))
    return;
  value.isReplicated =
      isUniform && value.role != rt::CheckRole::Joined &&
      isReplicated(value, value.value.getParentBlock()->getParentOp());
  numbers[value.value] = static_cast<int64_t>(values.size());
  values.push_back(std::move(value));
}

void CheckPlan::addArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto sharding =
        function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (!type || !sharding)
      continue;
    auto global = function.getArgAttrOfType<TypeAttr>(number, kGlobalTypeAttr);
    auto name = function.getArgAttrOfType<StringAttr>(number, kNameAttr);
    CheckedValue value{argument, {}, rt::CheckRole::Input};
    value.layout.sharding = sharding;
    value.layout.globalType =
        global ? cast<RankedTensorType>(global.getValue()) : type;
    value.what = name ? name.str() : "arg" + std::to_string(number);
    value.place = sourcePlace(argument.getLoc());
    add(std::move(value), /*isUniform=*/true);
  }
}

void CheckPlan::addBlock(Block &block, bool isUniform) {
  for (Operation &op : block) {
    auto join = dyn_cast<JoinOpInterface>(op);
    if (join)
      addRegions(join, isUniform);
    if (matchPattern(&op, m_Constant()))
      continue;
    for (OpResult result : op.getResults()) {
      std::optional<LayoutNote> layout = getLayoutNote(result);
      if (!layout)
        continue;
      CheckedValue value{result, *layout};
      value.role = join ? rt::CheckRole::Joined : rt::CheckRole::Made;
      value.what = op.getName().getStringRef();
      value.place = sourcePlace(op.getLoc());
      add(std::move(value), isUniform);
    }
  }
}

/// The regions' arguments are what the results are that they are joined with.
void CheckPlan::addRegions(JoinOpInterface op, bool isUniform) {
  for (Value chooser : Uniformity::choosers(op))
    isUniform &= uniformity.varyingAxes(chooser).none();
  if (llvm::any_of(op->getRegions(), [](Region &region) {
        return region.getNumArguments() != 0;
      }))
    loops.push_back(op);
  SmallVector<Join> joins = op.getJoins();
  for (Region &region : op->getRegions()) {
    for (const Join &join : joins) {
      std::optional<LayoutNote> layout;
      for (Value value : join.values)
        if (auto result = dyn_cast<OpResult>(value); result && !layout)
          layout = getLayoutNote(result);
      for (Value value : join.values)
        if (layout && value.getParentRegion() == &region) {
          CheckedValue joined{value, *layout, rt::CheckRole::Joined};
          joined.what = op->getName().getStringRef();
          joined.place = sourcePlace(op->getLoc());
          add(std::move(joined), isUniform);
        }
    }
    addBlock(region.front(), isUniform);
  }
}

//===----------------------------------------------------------------------===//
// What they are made from
//===----------------------------------------------------------------------===//

/// Values are found in program order, and what a loop yields stands behind what
/// it becomes.
void CheckPlan::findSources() {
  for (CheckedValue &value : values) {
    if (value.role != rt::CheckRole::Made)
      continue;
    llvm::SmallPtrSet<Value, 8> seen;
    Operation *op = value.value.getDefiningOp();
    llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    for (Value operand : read)
      trace(value, operand, seen);
    llvm::sort(value.sources);
  }
}

static void assume(CheckedValue &value, Attribute constant) {
  auto elements = dyn_cast<DenseFPElementsAttr>(constant);
  if (!elements)
    return;
  auto look = [&](const APFloat &element) {
    value.assumesNaN |= element.isNaN();
    value.assumesInf |= element.isInfinity();
  };
  if (elements.isSplat())
    return look(elements.getSplatValue<APFloat>());
  for (const APFloat &element : elements.getValues<APFloat>())
    look(element);
}

void CheckPlan::trace(CheckedValue &value, Value from,
                      llvm::SmallPtrSetImpl<Value> &seen) const {
  if (!seen.insert(from).second)
    return;
  auto found = numbers.find(from);
  if (found != numbers.end()) {
    if (values[found->second].isFloat())
      value.sources.push_back(found->second);
    return;
  }
  Attribute constant;
  if (matchPattern(from, m_Constant(&constant)))
    return assume(value, constant);
  for (Value source : uniformity.sourcesOf(from))
    trace(value, source, seen);
}

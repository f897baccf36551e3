// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Layouts.h"
#include "SourceLines.h"
#include "mlir/IR/AsmState.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Report/Report.h"

using namespace mlir;
using namespace shoal;

/// Longer constants and ops are elided.
static constexpr int64_t kMaxElements = 8;
static constexpr size_t kMaxTextBytes = 4000;

static OpPrintingFlags printingFlags() {
  return OpPrintingFlags()
      .elideLargeElementsAttrs(kMaxElements)
      .elideLargeResourceString(kMaxElements)
      .skipRegions()
      .enableDebugInfo(false);
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

namespace {

/// Lists the ops of one function in program order, those of regions behind the
/// op that has them.
class Lister {
public:
  explicit Lister(func::FuncOp func)
      : func(func), layouts(func->getParentOfType<ModuleOp>()),
        names(func, printingFlags()) {}

  llvm::json::Object run() {
    addArguments();
    addBlock(func.front(), /*depth=*/0);
    llvm::json::Array collectives;
    for (const CollectiveCost &collective :
         listCollectives(func->getParentOfType<ModuleOp>()))
      collectives.push_back(numberOf(collective.op));
    for (auto [op, number] : opNumbers)
      noteNumber(op, number);
    return llvm::json::Object{{"ops", std::move(ops)},
                              {"values", std::move(values)},
                              {"layouts", layouts.take()},
                              {"files", sources.takeFiles()},
                              {"op_of_collective", std::move(collectives)}};
  }

private:
  void addArguments();
  void addBlock(Block &block, int64_t depth);
  void addOp(Operation *op, int64_t depth);
  void addRegions(Operation *op, int64_t depth);
  llvm::json::Object describe(Operation *op, int64_t depth);
  int64_t addValue(Value value, std::optional<LayoutNote> note);
  std::string printText(Operation *op);
  /// Null for an op that is not listed.
  llvm::json::Value numberOf(Operation *op) const;
  std::string nameOf(Value value);

  func::FuncOp func;
  Layouts layouts;
  SourceLines sources;
  AsmState names;
  llvm::json::Array ops, values;
  llvm::DenseMap<Operation *, int64_t> opNumbers;
  llvm::DenseMap<Value, int64_t> valueNumbers;
};

} // namespace

std::string Lister::nameOf(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  value.printAsOperand(os, names);
  return toUTF8(text);
}

/// The op without its `why`, which the report shows by itself.
std::string Lister::printText(Operation *op) {
  Attribute why = op->getAttr("why");
  if (why)
    op->removeAttr("why");
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, names);
  if (why)
    op->setAttr("why", why);
  StringRef line = StringRef(text).rtrim();
  if (line.size() <= kMaxTextBytes)
    return toUTF8(line);
  return toUTF8(line.take_front(kMaxTextBytes)) + " …";
}

llvm::json::Value Lister::numberOf(Operation *op) const {
  auto found = opNumbers.find(op);
  return found == opNumbers.end() ? llvm::json::Value(nullptr) : found->second;
}

int64_t Lister::addValue(Value value, std::optional<LayoutNote> note) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  llvm::json::Object entry{{"name", nameOf(value)}};
  if (type) {
    entry["dtype"] = print(type.getElementType());
    entry["shape"] = llvm::json::Array(type.getShape());
    entry["bytes"] = sizeInBytes(type);
  } else {
    entry["dtype"] = print(value.getType());
  }
  if (note) {
    entry["global"] = llvm::json::Array(note->globalType.getShape());
    entry["layout"] = layouts.add(note->sharding, note->manualAxes);
    if (note->origin)
      entry["origin"] = toUTF8(note->origin.getValue());
  }
  values.push_back(std::move(entry));
  return valueNumbers[value] = values.size() - 1;
}

void Lister::addArguments() {
  auto origins = func->getAttrOfType<ArrayAttr>("shoal.argument_origins");
  for (BlockArgument argument : func.getArguments()) {
    unsigned number = argument.getArgNumber();
    std::optional<LayoutNote> note;
    auto global = func.getArgAttrOfType<TypeAttr>(number, kGlobalTypeAttr);
    auto sharding = func.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
    if (global && sharding) {
      note = {cast<RankedTensorType>(global.getValue()), sharding, {}, {}};
      if (origins && number < origins.size())
        note->origin = dyn_cast<StringAttr>(origins[number]);
    }
    addValue(argument, note);
  }
}

void Lister::addBlock(Block &block, int64_t depth) {
  for (Operation &op : block)
    addOp(&op, depth);
}

llvm::json::Object Lister::describe(Operation *op, int64_t depth) {
  llvm::json::Array operands;
  for (Value operand : op->getOperands())
    operands.push_back(valueNumbers.lookup(operand));
  llvm::json::Object entry{{"name", op->getName().getStringRef()},
                           {"text", printText(op)},
                           {"operands", std::move(operands)},
                           {"loc", sources.add(op->getLoc())},
                           {"depth", depth}};
  if (std::string name = namePath(op->getLoc()); !name.empty())
    entry["from"] = toUTF8(name);
  if (int64_t runs = countRuns(op); runs != 1)
    entry["runs"] = runs;
  if (auto rule = dyn_cast<FactorRuleOpInterface>(op))
    if (double flops = rule.getFactorRule().flops)
      entry["flops"] = flops;
  return entry;
}

void Lister::addOp(Operation *op, int64_t depth) {
  opNumbers[op] = ops.size();
  llvm::json::Object entry = describe(op, depth);
  llvm::json::Array results;
  for (OpResult result : op->getResults())
    results.push_back(addValue(result, getLayoutNote(result)));
  entry["results"] = std::move(results);
  ops.push_back(std::move(entry));
  addRegions(op, depth);
}

/// The note on a result that a region's argument is one value with.
static std::optional<LayoutNote> findJoinNote(Operation *op,
                                              BlockArgument argument) {
  auto joinOp = dyn_cast<JoinOpInterface>(op);
  if (!joinOp)
    return std::nullopt;
  for (const Join &join : joinOp.getJoins())
    if (llvm::is_contained(join.values, argument))
      for (Value value : join.values)
        if (auto result = dyn_cast<OpResult>(value))
          return getLayoutNote(result);
  return std::nullopt;
}

void Lister::addRegions(Operation *op, int64_t depth) {
  // The body of a reduction computes on scalars: it is part of the op.
  if (!isa<JoinOpInterface>(op))
    return;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        addValue(argument, findJoinNote(op, argument));
      addBlock(block, depth + 1);
    }
}

llvm::json::Object shoal::listProgram(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      return Lister(func).run();
  return {};
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "mlir/IR/AsmState.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Dialect/Shoal/IR/Roles.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Dialect/Shoal/IR/WrittenShardings.h"
#include "shoal/Sharding/ManualAxes.h"
#include "shoal/Sharding/ReshardCost.h"
#include "shoal/Transforms/Propagation/Passes.h"
#include "llvm/Support/Format.h"

namespace shoal {
#define GEN_PASS_DEF_EXPLAIN
#include "shoal/Transforms/Propagation/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

namespace {

/// Prints one function.
class Explainer {
public:
  Explainer(func::FuncOp function, const Mesh &mesh, raw_ostream &os)
      : function(function), mesh(mesh), os(os), names(function) {}

  void run();

private:
  void printArgument(BlockArgument argument);
  void printResult(unsigned index);
  void printBlock(Block &block);
  void printRegions(Operation *op);
  void printOp(Operation *op);
  void printReshard(ReshardOp op);
  void printMeeting(ReshardOp op);
  StringRef originOf(Value value);
  std::string originOfBoundary(OpOperand *use);
  void printSharding(ShardingAttr sharding);
  void printOrigin(ArrayAttr origins, unsigned index);
  double bytesOf(ReshardOp op) const;

  func::FuncOp function;
  const Mesh &mesh;
  raw_ostream &os;
  AsmState names;
  double total = 0;
  /// Two spaces a level of regions.
  std::string indent = "  ";
};

} // namespace

/// `<@mesh, [{"x"}, {}]>`.
void Explainer::printSharding(ShardingAttr sharding) {
  if (!sharding) {
    os << "no sharding";
    return;
  }
  std::string text;
  llvm::raw_string_ostream(text) << sharding;
  StringRef stripped = text;
  stripped.consume_front("#shoal.sharding");
  os << stripped;
}

void Explainer::printOrigin(ArrayAttr origins, unsigned index) {
  if (!origins || index >= origins.size())
    return;
  auto text = dyn_cast<StringAttr>(origins[index]);
  if (text && !text.empty())
    os << "  [" << text.getValue() << ']';
}

void Explainer::printArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  ShardingAttr sharding = getShardingOf(argument);
  auto hints = function->getAttrOfType<ArrayAttr>(kArgumentHintsAttr);
  if (!sharding && hints && index < hints.size())
    sharding = dyn_cast<ShardingAttr>(hints[index]);
  os << "  ";
  argument.printAsOperand(os, names);
  os << ' ' << describeArgument(function, index) << " : " << argument.getType()
     << ' ';
  printSharding(sharding);
  printOrigin(function->getAttrOfType<ArrayAttr>(kArgumentOriginsAttr), index);
  os << '\n';
}

void Explainer::printResult(unsigned index) {
  auto sharding =
      function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr);
  os << "  " << describeResult(function, index) << " : "
     << function.getResultTypes()[index] << ' ';
  printSharding(sharding);
  if (std::string text = writtenResult(function, index); !text.empty())
    os << "  [as" << text << ']';
  os << '\n';
}

/// What the value's op, be it behind reshards, or the function says of where
/// its sharding came from; empty where that is not known.
StringRef Explainer::originOf(Value value) {
  while (auto reshard = value.getDefiningOp<ReshardOp>())
    value = reshard.getInput();
  ArrayAttr origins;
  unsigned index = 0;
  if (auto result = dyn_cast<OpResult>(value)) {
    origins = result.getOwner()->getAttrOfType<ArrayAttr>(kOriginAttr);
    index = result.getResultNumber();
  } else if (cast<BlockArgument>(value).getOwner() ==
             &function.getBody().front()) {
    origins = function->getAttrOfType<ArrayAttr>(kArgumentOriginsAttr);
    index = cast<BlockArgument>(value).getArgNumber();
  }
  auto text = origins && index < origins.size()
                  ? dyn_cast<StringAttr>(origins[index])
                  : StringAttr();
  return text ? text.getValue() : StringRef();
}

/// `; here meets [x: from argument 0] with [x: from shoal.split at
/// a.mlir:3:4]`: the annotations that led to the operand's sharding and to the
/// user's.
void Explainer::printMeeting(ReshardOp op) {
  OpOperand *use = nullptr;
  Operation *user = op;
  while (isa<ReshardOp>(user) && !user->use_empty()) {
    use = &*user->use_begin();
    user = use->getOwner();
  }
  std::string there = originOfBoundary(use);
  if (there.empty() && user->getNumResults() > 0)
    there = originOf(user->getResult(0));
  StringRef here = originOf(op.getInput());
  if (here.empty() && there.empty())
    return;
  auto print = [&](StringRef origin) {
    os << '[' << (origin.empty() ? "not split" : origin) << ']';
  };
  os << "; here meets ";
  print(here);
  os << " with ";
  print(user->getNumResults() > 0 || !there.empty() ? there
                                                    : "what a result asks for");
}

/// `operand 0 of shoal.manual_computation at a.mlir:3:4` where the use is the
/// edge of a region for one device, which is an annotation itself.
std::string Explainer::originOfBoundary(OpOperand *use) {
  if (!use)
    return {};
  Operation *user = use->getOwner();
  bool isEntry = isa<BoundaryOpInterface>(user);
  Operation *region = isEntry ? user : user->getParentOp();
  if (!isEntry && !(isa<BoundaryOpInterface>(region) &&
                    user->hasTrait<OpTrait::IsTerminator>()))
    return {};
  std::string text = describeBoundary(region, use->getOperandNumber(), isEntry);
  std::string where = describeLocation(region->getLoc());
  return where.empty() ? text : text + " at " + where;
}

double Explainer::bytesOf(ReshardOp op) const {
  RankedTensorType type = op.getType();
  AxisList manual = manualAxesAround(op, mesh);
  Mesh source = inOrderOf(mesh, op.getSource(), op);
  Mesh target = inOrderOf(mesh, op.getTarget(), op);
  return plannedBytes(withManualDim(type.getShape(), manual, mesh),
                      (type.getElementTypeBitWidth() + 7) / 8,
                      withManualDim(toSharding(op.getSource(), mesh), manual),
                      withManualDim(toSharding(op.getTarget(), mesh), manual),
                      source,
                      source.deviceIds != target.deviceIds ? &target : nullptr);
}

/// Where a sharding has each axis: its dimension, or behind these sums, and its
/// place there.
static SmallVector<std::tuple<AxisRefAttr, size_t, size_t>>
placesOf(ShardingAttr sharding) {
  SmallVector<std::tuple<AxisRefAttr, size_t, size_t>> places;
  auto add = [&](ArrayRef<AxisRefAttr> axes, size_t dim) {
    for (auto [place, axis] : llvm::enumerate(axes))
      places.emplace_back(axis, dim, place);
  };
  for (auto [number, dim] : llvm::enumerate(sharding.getDims()))
    add(dim.getAxes(), number);
  add(sharding.getPartial(), sharding.getDims().size());
  return places;
}

/// The roles of the axes that a reshard leaves in another place, as
/// `describeRoles` has them; empty between meshes.
static std::string rolesOf(ReshardOp op) {
  ShardingAttr source = op.getSource(), target = op.getTarget();
  if (source.getMesh() != target.getMesh())
    return "";
  auto before = placesOf(source), behind = placesOf(target);
  SmallVector<AxisRefAttr> moved;
  for (auto [from, to] : {std::pair(&before, &behind), {&behind, &before}})
    for (const auto &place : *from)
      if (!llvm::is_contained(*to, place))
        moved.push_back(std::get<0>(place));
  return describeRoles(moved, lookupMesh(op, source.getMesh()));
}

void Explainer::printReshard(ReshardOp op) {
  double bytes = bytesOf(op), times = weightOf(op->getBlock());
  total += bytes * times;
  os << indent;
  op.getResult().printAsOperand(os, names);
  os << " = reshard ";
  op.getInput().printAsOperand(os, names);
  os << " : " << op.getType() << ' ';
  printSharding(op.getSource());
  os << " -> ";
  printSharding(op.getTarget());
  os << llvm::format("  %.0f bytes", bytes);
  if (times != 1)
    os << llvm::format(", %.0f times", times);
  if (std::string roles = rolesOf(op); !roles.empty())
    os << ", over " << roles;
  if (op.getWhy())
    os << ", for " << *op.getWhy();
  if (op.getRemoval())
    os << "; " << *op.getRemoval();
  if (std::string layer = namePath(op.getLoc()); !layer.empty())
    os << ", in " << layer;
  printMeeting(op);
  os << '\n';
}

void Explainer::printOp(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return printReshard(reshard);
  for (OpResult result : op->getResults()) {
    os << indent;
    result.printAsOperand(os, names);
    os << " = " << describeOp(op) << " : " << result.getType() << ' ';
    printSharding(getShardingOf(result));
    printOrigin(op->getAttrOfType<ArrayAttr>(kOriginAttr),
                result.getResultNumber());
    os << '\n';
  }
  if (isa<JoinOpInterface, BoundaryOpInterface>(op))
    printRegions(op);
}

void Explainer::printRegions(Operation *op) {
  indent += "  ";
  for (Region &region : op->getRegions()) {
    os << indent << "region " << region.getRegionNumber() << " (";
    llvm::interleaveComma(region.getArguments(), os, [&](Value argument) {
      argument.printAsOperand(os, names);
      if (!isa<BoundaryOpInterface>(op))
        return;
      os << " : " << argument.getType() << ' ';
      printSharding(getShardingOf(argument));
    });
    os << ")\n";
    printBlock(region.front());
  }
  indent.resize(indent.size() - 2);
}

void Explainer::printBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    printOp(&op);
}

void Explainer::run() {
  os << '@' << function.getSymName() << '\n';
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    printArgument(argument);
  printBlock(block);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    printResult(i);
  os << llvm::format("  reshards send %.0f bytes per device\n", total);
}

namespace {

struct Explain : shoal::impl::ExplainBase<Explain> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isGlobalProgram(function))
        Explainer(function, *mesh, llvm::errs()).run();
  }
};

} // namespace

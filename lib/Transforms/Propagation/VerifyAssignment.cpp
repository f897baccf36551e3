// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Transforms/Propagation/Passes.h"

namespace shoal {
#define GEN_PASS_DEF_VERIFYASSIGNMENT
#include "shoal/Transforms/Propagation/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

namespace {

class Verifier {
public:
  explicit Verifier(const Mesh &mesh) : mesh(mesh) {}

  LogicalResult verifyFunction(func::FuncOp function) const;

private:
  LogicalResult verifyBlock(Block &block) const;
  LogicalResult verifyOp(Operation *op) const;
  LogicalResult verifyJoins(JoinOpInterface op) const;
  LogicalResult verifyManualRegions(BoundaryOpInterface op) const;
  LogicalResult verifyBoundary(BoundaryOpInterface op,
                               const Boundary &boundary) const;
  LogicalResult verifyRule(FactorRuleOpInterface op,
                           ArrayRef<ShardingAttr> operands,
                           ArrayRef<ShardingAttr> results) const;
  LogicalResult verifyReshard(ReshardOp op) const;
  LogicalResult verifyForwarding(Operation *op) const;
  LogicalResult verifyConstraint(ShardingConstraintOp op) const;

  const Mesh &mesh;
};

/// An op's or function's operand, result or argument, for messages.
struct Place {
  Operation *op;
  StringRef kind;
  unsigned index;

  InFlightDiagnostic emitError() const {
    InFlightDiagnostic error = op->emitError();
    if (!isa<func::FuncOp>(op))
      error << "'" << op->getName() << "' op ";
    error << describePlace(op, kind, index) << ": ";
    return error;
  }
};

} // namespace

static LogicalResult verifyClosed(ShardingAttr sharding, const Place &place) {
  if (!sharding)
    return place.emitError()
           << "expected a sharding; --shoal-assign chooses it";
  if (sharding.hasOpenDims())
    return place.emitError()
           << "sharding " << sharding << " has open dimensions";
  return success();
}

static LogicalResult verifyComplete(ShardingAttr sharding, const Place &place) {
  if (failed(verifyClosed(sharding, place)))
    return failure();
  if (!sharding.getPartial().empty())
    return place.emitError() << "sharding " << sharding
                             << " is partial; callers cannot reduce it";
  return success();
}

LogicalResult Verifier::verifyReshard(ReshardOp op) const {
  ShardingAttr before = getShardingOf(op.getInput());
  if (before != op.getSource())
    return op.emitOpError() << "starts from " << op.getSource()
                            << " but its operand is " << before;
  if (getShardingOf(op.getResult()) != op.getTarget())
    return op.emitOpError()
           << "ends in " << op.getTarget() << " but its result is "
           << getShardingOf(op.getResult());
  return success();
}

LogicalResult Verifier::verifyForwarding(Operation *op) const {
  for (auto [i, operand, result] :
       llvm::enumerate(op->getOperands(), op->getResults()))
    if (getShardingOf(operand) != getShardingOf(result))
      return op->emitOpError()
             << "result " << i << ": sharding " << getShardingOf(result)
             << " is not that of its operand, " << getShardingOf(operand);
  return success();
}

/// Whether `axes` are what the annotation lists, or, where it is open, begin
/// so.
static bool holds(DimShardingAttr asked, ArrayRef<AxisRefAttr> axes,
                  const Mesh &mesh) {
  AxisList wanted = toAxisList(asked.getAxes(), mesh);
  AxisList own = toAxisList(axes, mesh);
  if (!asked.getIsOpen())
    return own == wanted;
  return own.size() >= wanted.size() &&
         ArrayRef(own).take_front(wanted.size()) == ArrayRef(wanted);
}

/// Whether `own` is partial over what the annotation lists.
static bool holdsPartial(ShardingAttr asked, ShardingAttr own,
                         const Mesh &mesh) {
  return toSharding(asked, mesh).partial == toSharding(own, mesh).partial;
}

LogicalResult Verifier::verifyConstraint(ShardingConstraintOp op) const {
  ShardingAttr before = getShardingOf(op.getInput());
  ShardingAttr after = getShardingOf(op.getResult());
  if (before != after)
    return op.emitOpError()
           << "changes the sharding, from " << before << " to " << after;
  if (op.getHint())
    return success();
  if (!holdsPartial(op.getSharding(), after, mesh))
    return op.emitOpError()
           << "result 0: sharding " << after
           << " is not partial over what the annotation asks for";
  for (auto [d, asked, own] :
       llvm::enumerate(op.getSharding().getDims(), after.getDims()))
    if (!holds(asked, own.getAxes(), mesh))
      return op.emitOpError() << "dim " << d << ": sharding " << after
                              << " is not what the annotation asks for";
  return success();
}

LogicalResult Verifier::verifyRule(FactorRuleOpInterface op,
                                   ArrayRef<ShardingAttr> operands,
                                   ArrayRef<ShardingAttr> results) const {
  OpShardings shardings;
  for (ShardingAttr attr : operands)
    shardings.operands.push_back(toSharding(attr, mesh));
  for (ShardingAttr attr : results)
    shardings.results.push_back(toSharding(attr, mesh));
  if (findChoice(op.getFactorRule(), shardings, mesh))
    return success();
  InFlightDiagnostic error =
      op->emitOpError("operands and results fit no split of the op:");
  for (auto [i, attr] : llvm::enumerate(operands))
    error << (i ? ", " : " ") << attr;
  error << " ->";
  for (auto [i, attr] : llvm::enumerate(results))
    error << (i ? ", " : " ") << attr;
  return error;
}

static LogicalResult verifyJoin(Operation *op, const Join &join) {
  ShardingAttr expected = getShardingOf(join.values.front());
  for (OpOperand *source : join.sources) {
    ShardingAttr actual = getShardingOf(source->get());
    if (actual == expected)
      continue;
    InFlightDiagnostic error = op->emitOpError();
    error << "operand " << source->getOperandNumber() << " of "
          << source->getOwner()->getName() << ": sharding is " << actual
          << " but the values that it becomes have " << expected;
    error.attachNote(source->getOwner()->getLoc()) << "the operand is here";
    return error;
  }
  return success();
}

/// A value that decides where the program goes is the same on all devices.
static LogicalResult verifyWhole(Operation *op, OpOperand *operand) {
  ShardingAttr sharding = getShardingOf(operand->get());
  bool isSplit = llvm::any_of(sharding.getDims(), [](DimShardingAttr dim) {
    return !dim.getAxes().empty();
  });
  if (!isSplit && sharding.getPartial().empty())
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << "operand " << operand->getOperandNumber() << " of "
        << operand->getOwner()->getName()
        << ": expected to be whole on every device but got " << sharding;
  error.attachNote(operand->getOwner()->getLoc()) << "the operand is here";
  return error;
}

LogicalResult Verifier::verifyJoins(JoinOpInterface op) const {
  for (OpResult result : op->getResults())
    if (failed(verifyClosed(getShardingOf(result),
                            {op, "result", result.getResultNumber()})))
      return failure();
  for (Region &region : op->getRegions())
    if (failed(verifyBlock(region.front())))
      return failure();
  for (const Join &join : op.getJoins())
    if (failed(verifyJoin(op, join)))
      return failure();
  for (OpOperand *operand : op.getWholeOperands())
    if (failed(verifyWhole(op, operand)))
      return failure();
  return success();
}

/// Outside, the manual axes come before those inside, and together they are
/// what the boundary asks for.
LogicalResult Verifier::verifyBoundary(BoundaryOpInterface op,
                                       const Boundary &boundary) const {
  ShardingAttr inner = getShardingOf(boundary.inner());
  ShardingAttr outer = getShardingOf(boundary.outer());
  if (!inner || !outer)
    return op->emitOpError("expected a sharding of every value that enters or "
                           "leaves; --shoal-assign chooses it");
  auto asked = cast<ShardingAttr>(boundary.sharding);
  AxisList manual = manualAxesOf(op, mesh);
  Sharding expected = toSharding(inner, mesh);
  bool isAsked = holdsPartial(asked, outer, mesh);
  for (auto [own, dim, wanted] :
       llvm::zip_equal(expected.dims, outer.getDims(), asked.getDims())) {
    AxisList before = toAxisList(wanted.getAxes(), mesh);
    llvm::erase_if(
        before, [&](AxisId axis) { return !llvm::is_contained(manual, axis); });
    own.insert(own.begin(), before.begin(), before.end());
    isAsked &= holds(wanted, dim.getAxes(), mesh);
  }
  for (AxisId axis : toAxisList(asked.getPartial(), mesh))
    if (llvm::is_contained(manual, axis))
      expected.partial.push_back(axis);
  llvm::sort(expected.partial);
  if (isAsked && toSharding(outer, mesh) == expected)
    return success();
  return op->emitOpError() << (boundary.isEntry ? "operand "
                                                : "result of yield ")
                           << boundary.source->getOperandNumber() << ": "
                           << outer << " outside and " << inner
                           << " inside are not what " << asked << " asks for";
}

LogicalResult Verifier::verifyManualRegions(BoundaryOpInterface op) const {
  for (Region &region : op->getRegions())
    if (failed(verifyBlock(region.front())))
      return failure();
  for (const Boundary &boundary : op.getBoundaries())
    if (failed(verifyBoundary(op, boundary)))
      return failure();
  return success();
}

LogicalResult Verifier::verifyBlock(Block &block) const {
  for (Operation &op : block.without_terminator())
    if (failed(verifyOp(&op)))
      return failure();
  return success();
}

LogicalResult Verifier::verifyOp(Operation *op) const {
  if (auto join = dyn_cast<JoinOpInterface>(op))
    return verifyJoins(join);
  if (auto manual = dyn_cast<BoundaryOpInterface>(op))
    return verifyManualRegions(manual);
  SmallVector<ShardingAttr> operands, results;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(getShardingOf(operand));
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    results.push_back(getShardingOf(result));
    if (failed(verifyClosed(results.back(), {op, "result", unsigned(i)})))
      return failure();
  }
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return verifyReshard(reshard);
  SmallVector<ShardingAttr> all(operands);
  llvm::append_range(all, results);
  for (ShardingAttr sharding : all)
    if (sharding.getMesh() != all.front().getMesh())
      return op->emitOpError() << "mixes meshes " << all.front().getMesh()
                               << " and " << sharding.getMesh();
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
    return verifyConstraint(constraint);
  auto forwarding = dyn_cast<ForwardingOpInterface>(op);
  if (forwarding && forwarding.forwardsOperands())
    return verifyForwarding(op);
  if (auto interface = dyn_cast<FactorRuleOpInterface>(op))
    return verifyRule(interface, operands, results);
  return op->emitOpError("cannot be partitioned: it has no factor rule");
}

LogicalResult Verifier::verifyFunction(func::FuncOp function) const {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(verifyComplete(
            function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr),
            {function, "argument", i})))
      return failure();
  Block &block = function.getBody().front();
  if (failed(verifyBlock(block)))
    return failure();
  for (auto [i, operand] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    auto wanted = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
    Place place{function, "result", unsigned(i)};
    if (failed(verifyComplete(wanted, place)))
      return failure();
    if (getShardingOf(operand) != wanted)
      return place.emitError() << "sharding is " << wanted << " but "
                               << getShardingOf(operand) << " is returned";
  }
  return success();
}

namespace {

struct VerifyAssignment : shoal::impl::VerifyAssignmentBase<VerifyAssignment> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh)
      return signalPassFailure();
    Verifier verifier(*mesh);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isGlobalProgram(function) &&
          failed(verifier.verifyFunction(function)))
        return signalPassFailure();
  }
};

} // namespace

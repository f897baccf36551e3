// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

namespace {

class Extractor {
public:
  Extractor(func::FuncOp function, const Mesh &mesh, const OneHotCosts &costs)
      : costs(costs) {
    result.function = function;
    result.problem.mesh = mesh;
    auto module = function->getParentOfType<ModuleOp>();
    for (auto meshOp : module.getOps<MeshOp>())
      if (deviceOrders.try_emplace(ordered(meshOp), deviceOrders.size())
              .second) {
        result.problem.deviceOrders.push_back(ordered(meshOp));
        result.meshes.push_back(
            FlatSymbolRefAttr::get(meshOp.getSymNameAttr()));
      }
  }

  FailureOr<ExtractedProblem> run();

private:
  using Op = AssignmentProblem::Op;

  /// What tells the order of a mesh's devices, row-major being none.
  static std::vector<int64_t> ordered(MeshOp op) {
    std::vector<int64_t> ids(op.getMesh().getDeviceIds());
    for (auto [position, id] : llvm::enumerate(ids))
      if (static_cast<int64_t>(position) != id)
        return ids;
    return {};
  }

  LogicalResult addArgument(BlockArgument argument);
  LogicalResult addBlock(Block &block);
  LogicalResult addOp(Operation *op);
  LogicalResult addJoins(JoinOpInterface op);
  LogicalResult addForwarding(Operation *operation);
  void addWhole(OpOperand *operand);
  LogicalResult addManualRegions(BoundaryOpInterface op);
  LogicalResult addBoundaries(ArrayRef<Boundary> boundaries, bool isEntry,
                              const AxisList &manual, const AxisList &inner);
  LogicalResult addBoundary(const Boundary &boundary, const AxisList &manual,
                            const AxisList &inner);
  LogicalResult addResult(func::ReturnOp op, OpOperand &operand);
  LogicalResult addReturnTo(unsigned argument, OpOperand &operand);
  FailureOr<unsigned> addValue(Value value,
                               function_ref<InFlightDiagnostic()> emitError);
  LogicalResult constrain(Op &op, ShardingAttr attr,
                          function_ref<InFlightDiagnostic()> emitError);
  unsigned deviceOrderOf(FlatSymbolRefAttr mesh) const {
    return deviceOrders.at(ordered(
        SymbolTable::lookupNearestSymbolFrom<MeshOp>(result.function, mesh)));
  }
  void add(Op op, ProblemOp origin) {
    // Truth values do not add up.
    if (llvm::any_of(op.results, [&](unsigned id) {
          return getElementTypeOrSelf(result.values[id]).isInteger(1);
        }))
      op.rule.linearIn.clear();
    result.problem.ops.push_back(std::move(op));
    result.ops.push_back(std::move(origin));
  }
  ArrayRef<int64_t> shapeOf(unsigned id) const {
    return result.problem.values[id].shape;
  }
  /// The mesh that the value with this id is made on.
  unsigned deviceOrderOf(unsigned id) const {
    for (const Op &maker : result.problem.ops)
      if (llvm::is_contained(maker.results, id))
        return maker.deviceOrder;
    return 0;
  }

  const OneHotCosts &costs;
  ExtractedProblem result;
  llvm::DenseMap<Value, unsigned> ids;
  /// Of the block that is being read.
  double weight = 1;
  AxisList manualAxes;
  unsigned deviceOrder = 0;
  std::map<std::vector<int64_t>, unsigned> deviceOrders;
};

} // namespace

FailureOr<unsigned>
Extractor::addValue(Value value, function_ref<InFlightDiagnostic()> emitError) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return emitError() << "expected a ranked tensor of static shape, of "
                          "integers or floats, but got "
                       << value.getType();
  // Ops of arith take any tensor.
  if (!isCountable(type))
    return emitError()
           << "expected a tensor of less than 2^56 elements, but got " << type;
  unsigned id = result.values.size();
  ids[value] = id;
  result.values.push_back(value);
  int64_t bits = type.getElementTypeBitWidth();
  result.problem.values.push_back({llvm::SmallVector<int64_t>(type.getShape()),
                                   (bits + 7) / 8,
                                   weightOf(value.getParentBlock()), manualAxes,
                                   costs.flopsIfSent.lookup(value)});
  return id;
}

/// A value of which an annotation asks for addends is no maximum, product ...
/// of what devices have: what they hold of such a one is no addend.
static LogicalResult
verifySummed(Value value, ShardingAttr sharding,
             function_ref<InFlightDiagnostic()> emitError) {
  auto maker = value.getDefiningOp<FactorRuleOpInterface>();
  if (!maker || sharding.getPartial().empty())
    return success();
  FactorRule rule = maker.getFactorRule();
  const auto *other = llvm::find_if(rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Reduction && factor.reduction &&
           *factor.reduction != ReduceKind::Sum;
  });
  if (other == rule.factors.end())
    return success();
  InFlightDiagnostic error = emitError()
                             << "asks for addends over axis \""
                             << sharding.getPartial()[0].getName()
                             << "\" of what is no sum but a "
                             << stringifyReduceKind(*other->reduction);
  error.attachNote(maker.getLoc()) << "it is reduced here";
  return error;
}

LogicalResult
Extractor::constrain(Op &op, ShardingAttr attr,
                     function_ref<InFlightDiagnostic()> emitError) {
  const Mesh &mesh = result.problem.mesh;
  ShardingConstraint constraint;
  for (DimShardingAttr dim : attr.getDims())
    constraint.dims.push_back(
        {toAxisList(dim.getAxes(), mesh), dim.getIsOpen(), dim.getPriority()});
  constraint.replicated = toAxisList(attr.getReplicated(), mesh);
  constraint.partial = toAxisList(attr.getPartial(), mesh);
  llvm::sort(constraint.partial);
  op.constraint = std::move(constraint);
  op.deviceOrder = deviceOrderOf(attr.getMesh());
  return success();
}

LogicalResult Extractor::addArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto emitError = [&]() {
    return mlir::emitError(argument.getLoc())
           << describeArgument(result.function, index) << ": ";
  };
  FailureOr<unsigned> id = addValue(argument, emitError);
  if (failed(id))
    return failure();
  Op op;
  op.rule = FactorRuleBuilder::elementwise(result.problem.values[*id].shape,
                                           /*numOperands=*/0);
  op.results.push_back(*id);
  op.isHeld = true;
  op.label = describeArgument(result.function, index);
  if (auto attr =
          result.function.getArgAttrOfType<ShardingAttr>(index, kShardingAttr))
    if (failed(constrain(op, attr, emitError)))
      return failure();
  add(std::move(op), {nullptr, index, false, {}});
  return success();
}

LogicalResult Extractor::addResult(func::ReturnOp returnOp,
                                   OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  unsigned id = ids.at(operand.get());
  Op op;
  op.rule = FactorRuleBuilder::elementwise(result.problem.values[id].shape,
                                           /*numOperands=*/1,
                                           /*numResults=*/0);
  op.operands.push_back(id);
  op.isHeld = true;
  op.label = describeResult(result.function, index);
  if (auto attr = result.function.getResultAttrOfType<ShardingAttr>(
          index, kShardingAttr)) {
    if (failed(constrain(op, attr, [&]() {
          return result.function.emitError()
                 << describeResult(result.function, index) << ": ";
        })))
      return failure();
  } else {
    // A free result stays over the mesh that its value is on.
    op.deviceOrder = deviceOrderOf(id);
  }
  add(std::move(op), {returnOp, index, true, {&operand}});
  return success();
}

/// A result made in the memory of a donated argument lies as that does: as what
/// a loop carries, it is where the argument comes from.
LogicalResult Extractor::addReturnTo(unsigned argument, OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  unsigned id = ids.at(operand.get());
  Op &op = result.problem.ops[argument]; // arguments come first
  op.rule = FactorRuleBuilder::elementwise(result.problem.values[id].shape,
                                           /*numOperands=*/1);
  op.operands.push_back(id);
  result.ops[argument].operands.push_back(&operand);
  auto attr =
      result.function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr);
  if (!attr || op.constraint)
    return success();
  return constrain(op, attr, [&]() {
    return result.function.emitError() << "result " << index << ": ";
  });
}

/// The class of propagation that the relation of an op's dimensions shows.
static AssignmentProblem::Priority priorityOf(const FactorRule &rule) {
  size_t tensors = rule.operands.size() + rule.results.size();
  std::vector<size_t> occurrences(rule.factors.size());
  auto count = [&](ArrayRef<DimFactors> list) {
    for (const DimFactors &dims : list)
      for (const auto &dim : dims)
        for (unsigned factor : dim)
          ++occurrences[factor];
  };
  count(rule.operands);
  count(rule.results);
  bool contracts = rule.operands.size() > 1;
  bool reduces = false, isSame = true;
  for (auto [factor, own] : llvm::zip_equal(rule.factors, occurrences)) {
    reduces |= factor.kind == FactorKind::Reduction;
    isSame &= own == tensors || factor.size == 1;
  }
  if (contracts && reduces)
    return AssignmentProblem::Priority::Contraction;
  return isSame ? AssignmentProblem::Priority::PassThrough
                : AssignmentProblem::Priority::Restructuring;
}

/// An elementwise op per join, as all its values are the same tensor: linear,
/// as a value may be a partial sum wherever it is.
LogicalResult Extractor::addJoins(JoinOpInterface operation) {
  SmallVector<Join> joins = operation.getJoins();
  unsigned first = result.problem.ops.size();
  for (const Join &join : joins) {
    Op op;
    op.weight = weight;
    op.manualAxes = manualAxes;
    op.deviceOrder = deviceOrder;
    op.label = describeOp(operation);
    for (Value value : join.values) {
      FailureOr<unsigned> id =
          addValue(value, [&]() { return operation->emitOpError(); });
      if (failed(id))
        return failure();
      op.results.push_back(*id);
    }
    op.rule = FactorRuleBuilder::elementwise(
        shapeOf(op.results[0]), join.sources.size(), join.values.size());
    op.rule.linearIn.push_back(
        llvm::to_vector<2>(llvm::seq<unsigned>(join.sources.size())));
    add(std::move(op), {operation, 0, false, join.sources});
  }
  for (Region &region : operation->getRegions())
    if (failed(addBlock(region.front())))
      return failure();
  // Only now do the yielded values have their ids.
  for (auto [i, join] : llvm::enumerate(joins))
    for (OpOperand *source : join.sources)
      result.problem.ops[first + i].operands.push_back(ids.at(source->get()));
  for (OpOperand *operand : operation.getWholeOperands())
    addWhole(operand);
  return success();
}

/// An elementwise op for each operand, as the operands have nothing to do with
/// each other: each lies as is best for itself.
LogicalResult Extractor::addForwarding(Operation *operation) {
  for (auto [operand, value] :
       llvm::zip_equal(operation->getOpOperands(), operation->getResults())) {
    FailureOr<unsigned> id = addValue(value, [&, &own = value]() {
      return operation->emitOpError()
             << "result " << own.getResultNumber() << ": ";
    });
    if (failed(id))
      return failure();
    Op op;
    op.weight = weight;
    op.manualAxes = manualAxes;
    op.deviceOrder = deviceOrder;
    op.label = describeOp(operation);
    op.operands.push_back(ids.at(operand.get()));
    op.results.push_back(*id);
    op.rule = FactorRuleBuilder::elementwise(shapeOf(*id), /*numOperands=*/1);
    op.rule.linearIn.push_back({0});
    add(std::move(op), {operation, 0, false, {&operand}});
  }
  return success();
}

/// An op that nothing splits and that takes no partial sum.
void Extractor::addWhole(OpOperand *operand) {
  unsigned id = ids.at(operand->get());
  Op op;
  op.operands.push_back(id);
  op.rule = FactorRuleBuilder::elementwise(shapeOf(id), /*numOperands=*/1,
                                           /*numResults=*/0);
  for (Factor &factor : op.rule.factors)
    factor.kind = FactorKind::Replicated;
  op.label = describeOp(operand->getOwner());
  op.deviceOrder = deviceOrderOf(id);
  add(std::move(op), {operand->getOwner(), 0, false, {operand}});
}

LogicalResult Extractor::addBlock(Block &block) {
  double outer = std::exchange(weight, weightOf(&block));
  for (Operation &op : block.without_terminator()) {
    auto join = dyn_cast<JoinOpInterface>(op);
    auto manual = dyn_cast<BoundaryOpInterface>(op);
    auto forwarding = dyn_cast<ForwardingOpInterface>(op);
    bool forwards = forwarding && forwarding.forwardsOperands();
    if (failed(join       ? addJoins(join)
               : manual   ? addManualRegions(manual)
               : forwards ? addForwarding(&op)
                          : addOp(&op)))
      return failure();
  }
  weight = outer;
  return success();
}

LogicalResult Extractor::addManualRegions(BoundaryOpInterface op) {
  AxisList manual = manualAxesOf(op, result.problem.mesh);
  SmallVector<Boundary> boundaries = op.getBoundaries();
  // The values that enter are made inside, those that leave outside.
  AxisList inner = manualAxes;
  inner.append(manual);
  AxisList outerAxes = std::exchange(manualAxes, inner);
  unsigned outerOrder =
      std::exchange(deviceOrder, deviceOrderOf(op.getManualMesh()));
  if (failed(addBoundaries(boundaries, /*isEntry=*/true, manual, inner)))
    return failure();
  for (Region &region : op->getRegions())
    if (failed(addBlock(region.front())))
      return failure();
  manualAxes = std::move(outerAxes);
  deviceOrder = outerOrder;
  return addBoundaries(boundaries, /*isEntry=*/false, manual, inner);
}

LogicalResult Extractor::addBoundaries(ArrayRef<Boundary> boundaries,
                                       bool isEntry, const AxisList &manual,
                                       const AxisList &inner) {
  for (const Boundary &boundary : boundaries)
    if (boundary.isEntry == isEntry &&
        failed(addBoundary(boundary, manual, inner)))
      return failure();
  return success();
}

/// Moves the axes of `list` that are in `manual` out of it.
static AxisList takeAxes(AxisList &list, const AxisList &manual) {
  AxisList taken;
  for (AxisId axis : list)
    if (llvm::is_contained(manual, axis))
      taken.push_back(axis);
  llvm::erase_if(list,
                 [&](AxisId axis) { return llvm::is_contained(manual, axis); });
  return taken;
}

/// Moves the axes of `constraint` that are in `manual` out of it.
static AssignmentProblem::Op::ManualBoundary
takeAxes(ShardingConstraint &constraint, const AxisList &manual, bool isEntry) {
  AssignmentProblem::Op::ManualBoundary boundary;
  for (DimConstraint &dim : constraint.dims)
    boundary.axes.push_back(takeAxes(dim.axes, manual));
  boundary.partial = takeAxes(constraint.partial, manual);
  boundary.isEntry = isEntry;
  return boundary;
}

/// An annotation over the other axes, between the value and its shards over
/// `manual`; inside, all axes of `inner` are.
LogicalResult Extractor::addBoundary(const Boundary &boundary,
                                     const AxisList &manual,
                                     const AxisList &inner) {
  Operation *owner = boundary.value.getDefiningOp();
  if (boundary.isEntry)
    owner = boundary.source->getOwner();
  auto emitError = [&]() { return owner->emitOpError(); };
  Op op;
  op.weight = weight;
  op.manualAxes = inner;
  op.operands.push_back(ids.at(boundary.source->get()));
  FailureOr<unsigned> id = addValue(boundary.value, emitError);
  if (failed(id))
    return failure();
  op.results.push_back(*id);
  auto local = cast<RankedTensorType>(boundary.inner().getType());
  op.rule = FactorRuleBuilder::elementwise(local.getShape(), 1);
  op.label = describeOp(owner);
  auto sharding = cast<ShardingAttr>(boundary.sharding);
  if (failed(constrain(op, sharding, emitError)) ||
      (boundary.isEntry &&
       failed(verifySummed(boundary.source->get(), sharding, emitError))))
    return failure();
  op.boundary = takeAxes(*op.constraint, manual, boundary.isEntry);
  // Blocks of blocks are the blocks of the whole only where all are full.
  for (auto [factor, axes] :
       llvm::zip_equal(op.rule.factors, op.boundary->axes))
    factor.needsEvenSplit = !axes.empty();
  add(std::move(op),
      {owner, boundary.source->getOperandNumber(), false, {boundary.source}});
  return success();
}

static std::string nameOfElements(Value value) {
  std::string name;
  llvm::raw_string_ostream(name) << getElementTypeOrSelf(value.getType());
  return name;
}

LogicalResult Extractor::addOp(Operation *operation) {
  auto interface = dyn_cast<FactorRuleOpInterface>(operation);
  if (!interface) {
    InFlightDiagnostic error =
        operation->emitOpError("cannot be partitioned: it has no factor rule");
    if (isa<ReshardOp>(operation))
      error.attachNote() << "shardings of this program were already assigned";
    if (isa<func::CallOp>(operation))
      error.attachNote() << "calls are to be inlined first, by --inline";
    return error;
  }
  if (isa<spmd::CollectiveOpInterface>(operation) &&
      !operation->getParentOfType<BoundaryOpInterface>())
    return operation->emitOpError(
        "is written for one device: expected it in a region for one device, as "
        "of shoal.manual_computation");
  Op op;
  op.weight = weight;
  op.manualAxes = manualAxes;
  op.deviceOrder = deviceOrder;
  if (operation->getNumOperands() > 0)
    op.elementType = nameOfElements(operation->getOperand(0));
  ProblemOp origin{operation, 0, false, {}};
  for (OpOperand &operand : operation->getOpOperands()) {
    op.operands.push_back(ids.at(operand.get()));
    origin.operands.push_back(&operand);
  }
  for (OpResult value : operation->getResults()) {
    FailureOr<unsigned> id = addValue(value, [&]() {
      return operation->emitOpError()
             << "result " << value.getResultNumber() << ": ";
    });
    if (failed(id))
      return failure();
    op.results.push_back(*id);
  }
  op.rule = interface.getFactorRule();
  if (const auto *known = costs.ops.find(operation); known != costs.ops.end()) {
    op.rule.flops = known->second.flops;
    op.unsharedFactors = known->second.unsharedFactors;
  }
  op.priority = priorityOf(op.rule);
  op.label = describeOp(operation);
  if (auto constraint = dyn_cast<ShardingConstraintOp>(operation)) {
    // The rule of a constraint has a factor a dimension.
    op.rule = FactorRuleBuilder::elementwise(
        result.problem.values[op.results[0]].shape, /*numOperands=*/1);
    auto emitError = [&]() { return operation->emitOpError(); };
    if (failed(constrain(op, constraint.getSharding(), emitError)) ||
        failed(verifySummed(constraint.getInput(), constraint.getSharding(),
                            emitError)))
      return failure();
    op.constraint->isHint = constraint.getHint();
    if (op.constraint->isHint) // partial sums may pass
      op.rule.linearIn.push_back({0});
  }
  add(std::move(op), std::move(origin));
  return success();
}

FailureOr<ExtractedProblem> Extractor::run() {
  if (!llvm::hasSingleElement(result.function.getBody())) {
    result.function.emitError("expected a function of one block");
    return failure();
  }
  Block &block = result.function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (failed(addArgument(argument)))
      return failure();
  if (failed(addBlock(block)))
    return failure();
  auto returnOp = cast<func::ReturnOp>(block.getTerminator());
  SmallVector<int64_t> donors = findLikelyDonors(result.function);
  for (auto [operand, donor] :
       llvm::zip_equal(returnOp->getOpOperands(), donors)) {
    bool isOwn = donor >= 0 && operand.get() == block.getArgument(donor);
    if (failed(donor >= 0 && !isOwn ? addReturnTo(donor, operand)
                                    : addResult(returnOp, operand)))
      return failure();
  }
  assert(result.ops.size() == result.problem.ops.size() &&
         result.values.size() == result.problem.values.size() &&
         "the program's ops and values stand beside the problem's");
  return std::move(result);
}

ShardingAttr ExtractedProblem::toAttr(const Sharding &sharding,
                                      unsigned deviceOrder,
                                      unsigned value) const {
  Value made = values[value];
  Operation *around = made.getParentBlock()->getParentOp();
  auto region = dyn_cast<BoundaryOpInterface>(around);
  if (!region)
    region = around->getParentOfType<BoundaryOpInterface>();
  return shoal::toAttr(sharding, problem.mesh,
                       region ? region.getManualMesh() : meshes[deviceOrder]);
}

void shoal::walkProgram(Block &block,
                        llvm::function_ref<void(Operation *)> visit) {
  for (Operation &op : block.without_terminator()) {
    visit(&op);
    if (isa<JoinOpInterface, BoundaryOpInterface>(op))
      for (Region &region : op.getRegions())
        walkProgram(region.front(), visit);
  }
}

FailureOr<ExtractedProblem> shoal::extractProblem(func::FuncOp function,
                                                  const Mesh &mesh,
                                                  const OneHotCosts &costs) {
  return Extractor(function, mesh, costs).run();
}

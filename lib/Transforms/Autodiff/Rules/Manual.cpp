// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regions that are written for one device. A region is a function of what all
// devices hold, taken together; its gradient is a region over the same axes:
//
// * an operand that is the same along axes comes to each device along them, so
//   its cotangent is the sum of theirs;
// * of a result that is the same along p devices each counts as 1/p of it;
// * the cotangent of an operand or result that is partial along axes is the
// same
//   along them, as all addends of a sum have the sum's;
// * what the backward ops read of the forward ones leaves the forward region as
//   a further result, the devices' values one behind the other, and comes in
//   again; operands come in as they did.
//
// JAX's shard_map without check_vma is differentiated by the same rules.

#include "../SplitBlock.h"
#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/Addends.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;

namespace {

/// The operands of a region in the making, their shardings, and what they are
/// in the region.
struct Entries {
  SmallVector<Value> operands, inner;
  SmallVector<Attribute> shardings;
  SmallVector<Type> types;

  void add(Value operand, Attribute sharding, Value value, Type type) {
    operands.push_back(operand);
    shardings.push_back(sharding);
    inner.push_back(value);
    types.push_back(type);
  }
};

class ManualReversal {
public:
  ManualReversal(ManualComputationOp op, const Mesh &mesh, Vjp &vjp)
      : op(op), mesh(mesh),
        manual(toAxisList(op.getManualAxes().getAxes(), mesh)), vjp(vjp) {}

  LogicalResult run();

private:
  AxisList sameAlong(Attribute sharding) const;
  RankedTensorType stacked(Type local) const;
  ShardingAttr stackedSharding(int64_t rank);
  void addCotangents(Block &block, SmallVectorImpl<Seed> &seeds);
  ManualComputationOp buildForward(const SplitBlock &body);
  void buildBackward(const SplitBlock &body, ManualComputationOp forward);
  Value summedOver(TensorBuilder &b, Value value, Attribute sharding);

  ManualComputationOp op;
  const Mesh &mesh;
  AxisList manual;
  Vjp &vjp;
  /// The op whose body is differentiated; it goes in the end.
  ManualComputationOp scratch;
  /// Operands that are wanted, by their numbers.
  SmallVector<unsigned> wanted;
  /// What the backward region is given.
  Entries given;
  /// Values of the body that are further results.
  SmallVector<Value> residuals;
};

} // namespace

/// The manual axes along which all devices have the same of a value.
AxisList ManualReversal::sameAlong(Attribute sharding) const {
  AxisList same = manual;
  for (DimShardingAttr dim : cast<ShardingAttr>(sharding).getDims())
    for (AxisId axis : toAxisList(dim.getAxes(), mesh))
      llvm::erase(same, axis);
  for (AxisId axis :
       toAxisList(cast<ShardingAttr>(sharding).getPartial(), mesh))
    llvm::erase(same, axis);
  return same;
}

/// All devices' values one behind the other along the first dimension.
RankedTensorType ManualReversal::stacked(Type local) const {
  auto type = cast<RankedTensorType>(local);
  SmallVector<int64_t> shape(type.getShape());
  if (shape.empty())
    shape.push_back(1);
  shape[0] *= mesh.sizeOf(manual);
  return type.clone(shape);
}

/// Other axes may split what the manual ones leave.
ShardingAttr ManualReversal::stackedSharding(int64_t rank) {
  MLIRContext *context = vjp.b.getContext();
  SmallVector<DimShardingAttr> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    dims.push_back(DimShardingAttr::get(context,
                                        dim == 0 ? op.getManualAxes().getAxes()
                                                 : ArrayRef<AxisRefAttr>(),
                                        /*is_open=*/true, /*priority=*/0));
  return ShardingAttr::get(context, op.getMeshAttr(), dims, {}, {});
}

/// The cotangents of the results as further arguments of `block`.
void ManualReversal::addCotangents(Block &block, SmallVectorImpl<Seed> &seeds) {
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    Value g = vjp.cotangent(i);
    if (!g)
      continue;
    Attribute sharding = op.getOutShardings()[i];
    double copies = mesh.sizeOf(sameAlong(sharding));
    if (copies > 1)
      g = vjp.b.div(g, vjp.b.splat(g.getType(), copies));
    Value inner = block.addArgument(value.getType(), value.getLoc());
    given.add(g, withoutPartial(cast<ShardingAttr>(sharding)), inner,
              value.getType());
    seeds.push_back({value, inner});
  }
}

ManualComputationOp ManualReversal::buildForward(const SplitBlock &body) {
  OpBuilder at(op);
  TensorBuilder b(op.getLoc(), at);
  SmallVector<Type> types(op.getResultTypes());
  SmallVector<Attribute> out(op.getOutShardings().getValue());
  for (Value residual : residuals) {
    types.push_back(stacked(residual.getType()));
    out.push_back(
        stackedSharding(cast<RankedTensorType>(types.back()).getRank()));
  }
  auto forward = ManualComputationOp::create(
      b, types, op.getMeshAttr(), op.getManualAxesAttr(), op.getInputs(),
      op.getInShardingsAttr(), b.getArrayAttr(out));
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      b.createBlock(&forward.getBody(), {}, op.getBody().getArgumentTypes(),
                    SmallVector<Location>(op.getInputs().size(), op.getLoc()));
  Block &old = scratch.getBody().front();
  IRMapping mapping;
  mapping.map(old.getArguments().take_front(op.getInputs().size()),
              block->getArguments());
  body.cloneForward(b, mapping);
  SmallVector<Value> yielded;
  for (Value value : old.getTerminator()->getOperands())
    yielded.push_back(mapping.lookup(value));
  for (Value residual : residuals) {
    Value value = mapping.lookup(residual);
    yielded.push_back(tensorTypeOf(value).getRank() == 0 ? b.reshape(value, 1)
                                                         : value);
  }
  YieldOp::create(b, yielded);
  return forward;
}

/// Of an operand that is the same along axes, the devices' cotangents together.
Value ManualReversal::summedOver(TensorBuilder &b, Value value,
                                 Attribute sharding) {
  AxisList axes = sameAlong(sharding);
  if (mesh.sizeOf(axes) == 1)
    return value;
  Type element = getElementTypeOrSelf(value);
  Value sum = spmd::AllReduceOp::create(
      b, b.convert(value, b.sumElement(element)).getType(),
      ReduceKindAttr::get(b.getContext(), ReduceKind::Sum), op.getMeshAttr(),
      toAxesAttr(axes, mesh, b.getContext()),
      b.convert(value, b.sumElement(element)), StringAttr());
  return b.convert(sum, element);
}

void ManualReversal::buildBackward(const SplitBlock &body,
                                   ManualComputationOp forward) {
  TensorBuilder &b = vjp.b;
  for (auto [i, residual] : llvm::enumerate(residuals)) {
    unsigned number = op.getNumResults() + i;
    RankedTensorType local = tensorTypeOf(residual);
    given.add(forward.getResult(number), forward.getOutShardings()[number],
              residual,
              local.getRank() == 0 ? local.clone({int64_t(1)}) : local);
  }
  SmallVector<Type> types;
  SmallVector<Attribute> out;
  for (unsigned i : wanted) {
    types.push_back(op.getInputs()[i].getType());
    out.push_back(withoutPartial(cast<ShardingAttr>(op.getInShardings()[i])));
  }
  auto backward = ManualComputationOp::create(
      b, types, op.getMeshAttr(), op.getManualAxesAttr(), given.operands,
      b.getArrayAttr(given.shardings), b.getArrayAttr(out));
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      b.createBlock(&backward.getBody(), {}, given.types,
                    SmallVector<Location>(given.types.size(), b.getLoc()));
  IRMapping mapping;
  for (auto [value, argument] :
       llvm::zip_equal(given.inner, block->getArguments()))
    mapping.map(value, tensorTypeOf(value).getRank() == 0
                           ? b.reshape(argument, {})
                           : Value(argument));
  body.cloneBackward(b, mapping);
  SmallVector<Value> yielded;
  for (auto [gradient, i] : llvm::zip_equal(body.gradients, wanted))
    yielded.push_back(summedOver(b, mapping.lookupOrDefault(gradient),
                                 op.getInShardings()[i]));
  YieldOp::create(b, yielded);
  b.setInsertionPointAfter(backward);
  for (auto [i, gradient] : llvm::zip_equal(wanted, backward.getResults()))
    vjp.add(i, gradient);
}

LogicalResult ManualReversal::run() {
  scratch = cast<ManualComputationOp>(OpBuilder(op).clone(*op));
  Block &block = scratch.getBody().front();
  unsigned numInputs = op.getInputs().size();
  SmallVector<Value> wrt;
  for (unsigned i = 0; i < numInputs; ++i)
    if (vjp.wants(i)) {
      wanted.push_back(i);
      wrt.push_back(block.getArgument(i));
    }
  SmallVector<Seed> seeds;
  addCotangents(block, seeds);
  auto body = SplitBlock::differentiate(block, wrt, seeds);
  if (succeeded(body)) {
    // What no operand makes is made again.
    auto isFree = [](Value value) {
      Operation *maker = value.getDefiningOp();
      return maker && maker->getNumOperands() == 0 &&
             maker->getNumRegions() == 0;
    };
    for (Value value : body->findResiduals(numInputs, isFree)) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument) {
        residuals.push_back(value);
        continue;
      }
      unsigned i = argument.getArgNumber();
      given.add(op.getInputs()[i], op.getInShardings()[i], value,
                value.getType());
    }
    ManualComputationOp forward = buildForward(*body);
    buildBackward(*body, forward);
    vjp.replaceForward(forward.getResults().take_front(op.getNumResults()));
  }
  scratch.erase();
  return failure(failed(body));
}

namespace {

struct Manual
    : DifferentiableOpInterface::ExternalModel<Manual, ManualComputationOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    FailureOr<Mesh> mesh = collectMesh(operation->getParentOfType<ModuleOp>());
    if (failed(mesh))
      return failure();
    return ManualReversal(cast<ManualComputationOp>(operation), *mesh, vjp)
        .run();
  }
};

} // namespace

void shoal::registerManualDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ManualComputationOp::attachInterface<Manual>(*context);
    refuse<AutoToManualOp, ManualToAutoOp>(context, [] {
      return "is one end of a part that is written for one device: "
             "--shoal-form-manual-regions makes a region of it";
    });
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Import/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_FORMMANUALREGIONS
#include "shoal/Transforms/Import/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-form-manual-regions"

using namespace mlir;
using namespace shoal;

static PassCounter numRegions(DEBUG_TYPE,
                              "Regions made of parts for one device");

namespace {

/// One part of a block that is written for one device: connected by values, in
/// program order.
struct ManualPart {
  SmallVector<AutoToManualOp> entries;
  SmallVector<Operation *> ops;
  SmallVector<ManualToAutoOp> exits;
};

/// Finds the parts of one block and makes regions of them.
class BlockRewriter {
public:
  explicit BlockRewriter(Block &block) : block(block) {}

  LogicalResult run() {
    if (failed(findManualOps()))
      return failure();
    for (ManualPart &part : collectParts())
      if (failed(rewrite(part)))
        return failure();
    return success();
  }

private:
  bool isManual(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && members.contains(op) && !isa<ManualToAutoOp>(op);
  }

  /// What an op reads, itself or in its regions, of the block or of those
  /// around it.
  static SmallVector<Value> operandsOf(Operation *op) {
    SmallVector<Value> values;
    op->walk([&](Operation *nested) {
      for (Value value : nested->getOperands())
        if (!op->isAncestor(value.getParentBlock()->getParentOp()))
          values.push_back(value);
    });
    return values;
  }

  LogicalResult findManualOps() {
    for (Operation &op : block) {
      if (auto entry = dyn_cast<AutoToManualOp>(op)) {
        if (isManual(entry.getInput()))
          return noteMaker(op.emitOpError("expected a value that is not manual "
                                          "yet"),
                           entry.getInput());
        members.insert(&op);
        parts.insert(&op);
        continue;
      }
      for (Value operand : operandsOf(&op)) {
        if (!isManual(operand))
          continue;
        if (op.hasTrait<OpTrait::IsTerminator>())
          return noteMaker(op.emitOpError("returns a value that is manual: "
                                          "shoal.manual_to_auto is missing"),
                           operand);
        members.insert(&op);
        parts.unionSets(&op, operand.getDefiningOp());
      }
      if (isa<ManualToAutoOp>(op) && !members.contains(&op))
        return op.emitOpError("expected a value that comes from "
                              "shoal.auto_to_manual");
    }
    return success();
  }

  static LogicalResult noteMaker(InFlightDiagnostic error, Value value) {
    error.attachNote(value.getLoc()) << "the value is made here";
    return error;
  }

  SmallVector<ManualPart> collectParts() {
    llvm::MapVector<Operation *, ManualPart> found;
    for (Operation &op : block) {
      if (!members.contains(&op))
        continue;
      ManualPart &part = found[parts.getLeaderValue(&op)];
      if (auto entry = dyn_cast<AutoToManualOp>(op))
        part.entries.push_back(entry);
      else if (auto exit = dyn_cast<ManualToAutoOp>(op))
        part.exits.push_back(exit);
      else
        part.ops.push_back(&op);
    }
    return llvm::map_to_vector(found, [](auto &entry) { return entry.second; });
  }

  /// The place of the region: in front of the first use of what it makes.
  static FailureOr<Operation *> findPlace(const ManualPart &part) {
    Operation *place = part.exits.front();
    for (AutoToManualOp entry : part.entries) {
      Operation *made = entry.getInput().getDefiningOp();
      if (!made || made->getBlock() != place->getBlock() ||
          made->isBeforeInBlock(place))
        continue;
      InFlightDiagnostic error = entry.emitOpError(
          "needs a value that is made behind the first shoal.manual_to_auto of "
          "the same part: no region can hold it");
      error.attachNote(place->getLoc()) << "shoal.manual_to_auto is here";
      return error;
    }
    return place;
  }

  LogicalResult verifyMesh(const ManualPart &part) {
    AutoToManualOp first = part.entries.front();
    FlatSymbolRefAttr mesh = first.getSharding().getMesh();
    auto check = [&](auto op) {
      if (op.getSharding().getMesh() == mesh)
        return success();
      InFlightDiagnostic error = op.emitOpError();
      error << "is over mesh " << op.getSharding().getMesh() << " and not over "
            << mesh;
      error.attachNote(first.getLoc()) << "as the part begins";
      return LogicalResult(error);
    };
    for (AutoToManualOp op : part.entries)
      if (failed(check(op)))
        return failure();
    for (ManualToAutoOp op : part.exits)
      if (failed(check(op)))
        return failure();
    return success();
  }

  LogicalResult rewrite(ManualPart &part) {
    if (part.exits.empty()) // Nothing uses it.
      return eraseOps(part);
    FailureOr<Operation *> place = findPlace(part);
    if (failed(place) || failed(verifyMesh(part)))
      return failure();
    LDBG() << part.ops.size() << " ops with " << part.entries.size()
           << " values in and " << part.exits.size() << " out become a region";
    ++numRegions;
    ManualComputationOp region = makeRegion(part, *place);
    OpBuilder builder = OpBuilder::atBlockBegin(&region.getBody().front());
    IRMapping mapping;
    for (auto [entry, argument] :
         llvm::zip_equal(part.entries, region.getBody().getArguments()))
      mapping.map(entry.getResult(), argument);
    for (Operation *op : part.ops) {
      for (Value operand : operandsOf(op))
        if (failed(bringIn(operand, op, mapping, builder)))
          return failure();
      builder.clone(*op, mapping);
    }
    SmallVector<Value> yielded;
    for (ManualToAutoOp exit : part.exits)
      yielded.push_back(mapping.lookup(exit.getInput()));
    YieldOp::create(builder, region.getLoc(), yielded);
    for (auto [exit, result] : llvm::zip_equal(part.exits, region.getResults()))
      exit.replaceAllUsesWith(result);
    return eraseOps(part);
  }

  /// Along all axes of the mesh that are not manual around it, as a device of
  /// GShard's sees only itself.
  static ManualComputationOp makeRegion(const ManualPart &part,
                                        Operation *place) {
    AutoToManualOp first = part.entries.front();
    OpBuilder builder(place);
    MLIRContext *context = builder.getContext();
    FlatSymbolRefAttr mesh = first.getSharding().getMesh();
    auto meshOp = SymbolTable::lookupNearestSymbolFrom<MeshOp>(place, mesh);
    SmallVector<AxisRefAttr> axes, around;
    if (auto outer = place->getParentOfType<ManualComputationOp>())
      around = manualAxesIn(outer);
    for (MeshAxisAttr axis : meshOp.getMesh().getAxes())
      if (llvm::none_of(around, [&](AxisRefAttr other) {
            return other.getName() == axis.getName();
          }))
        axes.push_back(AxisRefAttr::get(context, axis.getName(), 1, 0));
    SmallVector<Value> inputs;
    SmallVector<Type> arguments, results;
    SmallVector<Attribute> in, out;
    for (AutoToManualOp entry : part.entries) {
      inputs.push_back(entry.getInput());
      arguments.push_back(entry.getType());
      in.push_back(entry.getSharding());
    }
    for (ManualToAutoOp exit : part.exits) {
      results.push_back(exit.getType());
      out.push_back(exit.getSharding());
    }
    auto region = ManualComputationOp::create(
        builder, first.getLoc(), results, mesh, AxesAttr::get(context, axes),
        inputs, builder.getArrayAttr(in), builder.getArrayAttr(out));
    SmallVector<Location> locations(arguments.size(), first.getLoc());
    builder.createBlock(&region.getBody(), {}, arguments, locations);
    return region;
  }

  /// Lets the region have `value` of the block: what the part has made already,
  /// or a copy of what is the same on all devices because it reads nothing.
  LogicalResult bringIn(Value value, Operation *user, IRMapping &mapping,
                        OpBuilder &builder) {
    if (mapping.contains(value))
      return success();
    Operation *op = value.getDefiningOp();
    if (!op || isa<AutoToManualOp, ManualToAutoOp>(op) || !isPure(op))
      return noteMaker(
          user->emitOpError("mixes manual values with one that is not: "
                            "shoal.auto_to_manual is missing"),
          value);
    for (Value operand : operandsOf(op))
      if (failed(bringIn(operand, user, mapping, builder)))
        return failure();
    builder.clone(*op, mapping);
    return success();
  }

  static LogicalResult eraseOps(ManualPart &part) {
    for (ManualToAutoOp exit : part.exits)
      exit.erase();
    for (Operation *op : llvm::reverse(part.ops))
      op->erase();
    for (AutoToManualOp entry : part.entries)
      entry.erase();
    return success();
  }

  Block &block;
  llvm::DenseSet<Operation *> members;
  llvm::EquivalenceClasses<Operation *> parts;
};

struct FormManualRegions
    : shoal::impl::FormManualRegionsBase<FormManualRegions> {
  void runOnOperation() override {
    // Inner blocks first: a part may hold an op with regions, of which it makes
    // a copy.
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) {
      if (llvm::any_of(*block, llvm::IsaPred<AutoToManualOp, ManualToAutoOp>))
        blocks.push_back(block);
    });
    for (Block *block : blocks)
      if (failed(BlockRewriter(*block).run()))
        return signalPassFailure();
  }
};

} // namespace

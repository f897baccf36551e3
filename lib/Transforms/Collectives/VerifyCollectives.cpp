// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpmdFunctions.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Collectives/Uniformity.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_VERIFYCOLLECTIVES
#include "shoal/Transforms/Collectives/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-verify-collectives"

using namespace mlir;
using namespace shoal;

namespace {

class Verifier {
public:
  explicit Verifier(const Uniformity &uniformity) : uniformity(uniformity) {}

  /// Checks every op with regions below `root`.
  LogicalResult run(Operation *root) const;

private:
  LogicalResult verifyRegionsOf(Operation *op) const;
  LogicalResult verifyGroup(Operation *op, ArrayRef<Value> choosers,
                            Operation *collective, const AxisSet &group) const;
  std::string print(const AxisSet &axes) const;

  const Uniformity &uniformity;
};

} // namespace

std::string Verifier::print(const AxisSet &axes) const {
  size_t count = uniformity.getMesh().axes.size();
  llvm::SmallSetVector<AxisId, 4> list;
  for (unsigned bit : axes.set_bits())
    list.insert(bit % count);
  return toString(toAxesAttr(list.getArrayRef(), uniformity.getMesh(),
                             uniformity.getContext()));
}

/// A note at the place where a value starts to differ between devices.
static void noteOrigin(InFlightDiagnostic &error, Value origin) {
  if (auto argument = dyn_cast<BlockArgument>(origin)) {
    error.attachNote(argument.getLoc())
        << "it differs because of "
        << describePlace(argument.getOwner()->getParentOp(), "argument",
                         argument.getArgNumber());
    return;
  }
  error.attachNote(origin.getLoc())
      << "it differs because of this " << origin.getDefiningOp()->getName();
}

LogicalResult Verifier::verifyGroup(Operation *op, ArrayRef<Value> choosers,
                                    Operation *collective,
                                    const AxisSet &group) const {
  for (Value chooser : choosers) {
    AxisSet common = uniformity.varyingAxes(chooser);
    LDBG() << op->getName() << " at " << op->getLoc()
           << ": a choice varies over " << print(common) << ", "
           << collective->getName() << " spans " << print(group);
    common &= group;
    if (common.none())
      continue;
    InFlightDiagnostic error = op->emitOpError()
                               << "may take another way on other devices along "
                               << print(common) << ", but holds a collective "
                               << "over " << print(group)
                               << ": devices that skip it leave the others "
                                  "waiting";
    error.attachNote(collective->getLoc())
        << collective->getName() << " is here";
    noteOrigin(error, uniformity.originOf(chooser, common));
    return error;
  }
  return success();
}

LogicalResult Verifier::verifyRegionsOf(Operation *op) const {
  bool isKnown = isa<JoinOpInterface, RegionBranchOpInterface>(op);
  SmallVector<Value> choosers = Uniformity::choosers(op);
  WalkResult result = op->walk([&](Operation *inner) -> WalkResult {
    std::optional<AxisSet> group =
        inner == op ? std::nullopt : uniformity.groupOf(inner);
    if (!group)
      return WalkResult::advance();
    if (isKnown)
      return verifyGroup(op, choosers, inner, *group);
    InFlightDiagnostic error =
        op->emitOpError("holds a collective, but does not say when its "
                        "regions run");
    error.attachNote(inner->getLoc()) << inner->getName() << " is here";
    return error;
  });
  return failure(result.wasInterrupted());
}

LogicalResult Verifier::run(Operation *root) const {
  WalkResult result = root->walk([&](Operation *op) -> WalkResult {
    if (op == root || op->getNumRegions() == 0)
      return WalkResult::advance();
    return verifyRegionsOf(op);
  });
  return failure(result.wasInterrupted());
}

namespace {

struct VerifyCollectives
    : shoal::impl::VerifyCollectivesBase<VerifyCollectives> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (func::FuncOp function : spmdFunctions(getOperation())) {
      const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
      if (!mesh || failed(verify(function, *mesh)))
        return signalPassFailure();
    }
  }

  LogicalResult verify(func::FuncOp function, const Mesh &mesh) {
    if (!function.getBody().hasOneBlock())
      return function.emitError("expected a function of one block");
    return Verifier(Uniformity(function, mesh)).run(function);
  }
};

} // namespace

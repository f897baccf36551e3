// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-to-linalg.

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "shoal/Conversion/ShoalToLinalg/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "shoal-to-linalg"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_SHOALTOLINALG
#include "shoal/Conversion/ShoalToLinalg/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numLowered(DEBUG_TYPE, "Ops lowered by patterns");
static PassCounter numEmpty(DEBUG_TYPE, "Ops on tensors of no elements");
static PassCounter numDonors(DEBUG_TYPE, "Results that may reuse an argument");

/// Errors at ops that a per-device program has no more, or not yet.
static LogicalResult verifyLowered(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    if (op->getName().getDialectNamespace() == "gpu") {
      op->emitOpError("is not an op of a per-device program, of which kernels "
                      "are made");
      return WalkResult::interrupt();
    }
    if (isa<MeshOp, OptimizationBarrierOp>(op) ||
        !isa_and_present<ShoalDialect, spmd::SpmdDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError("is not an op of a per-device program: the program must "
                    "be decomposed and partitioned before it is lowered");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Symbols of meshes that no op of the module declares.
static LogicalResult verifyMeshes(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    if (!isa_and_present<spmd::SpmdDialect>(op->getDialect()))
      return WalkResult::advance();
    for (StringRef name : {"mesh", "target_mesh"}) {
      auto symbol = op->getAttrOfType<FlatSymbolRefAttr>(name);
      if (symbol && !SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, symbol)) {
        op->emitOpError("names the mesh ")
            << symbol << ", which is not declared";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Nothing computes a tensor of no elements.
static void replaceEmptyTensors(ModuleOp module) {
  module.walk([](Operation *op) {
    auto isEmpty = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
    };
    if (op->getNumResults() == 0 || isa<tensor::EmptyOp>(op) ||
        !isMemoryEffectFree(op) || !llvm::all_of(op->getResultTypes(), isEmpty))
      return;
    LDBG() << op->getName() << " at " << sourcePlace(op->getLoc())
           << " has no elements";
    ++numEmpty;
    OpBuilder builder(op);
    for (OpResult result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      result.replaceAllUsesWith(makeEmpty(
          builder, op->getLoc(), type.getShape(), type.getElementType()));
    }
    op->erase();
  });
}

/// Notes which results may be made in the memory of arguments.
static void noteDonors(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    SmallVector<int64_t> donors = findDonors(func);
    int64_t count =
        llvm::count_if(donors, [](int64_t donor) { return donor >= 0; });
    if (count == 0)
      continue;
    LDBG() << "the results of @" << func.getSymName() << " may be made in "
           << "arguments " << llvm::interleaved_array(donors) << ", -1 in none";
    numDonors += count;
    func->setAttr(kDonorsAttr,
                  DenseI64ArrayAttr::get(module.getContext(), donors));
  }
}

/// What describes the program's arguments has been read by now, and would mean
/// nothing on buffers; but for what may be done with these.
static void dropDescription(ModuleOp module) {
  auto isOurs = [](NamedAttribute attr) {
    return attr.getName().strref().starts_with("shoal.") &&
           attr.getName() != kDonatedAttr;
  };
  auto keep = [&](ArrayAttr all) {
    SmallVector<DictionaryAttr> kept;
    for (auto attrs : all.getAsRange<DictionaryAttr>())
      kept.push_back(DictionaryAttr::get(
          module.getContext(),
          llvm::filter_to_vector(attrs.getValue(), std::not_fn(isOurs))));
    return kept;
  };
  for (auto func : module.getOps<func::FuncOp>()) {
    if (ArrayAttr attrs = func.getArgAttrsAttr())
      func.setAllArgAttrs(keep(attrs));
    if (ArrayAttr attrs = func.getResAttrsAttr())
      func.setAllResultAttrs(keep(attrs));
  }
}

namespace {

/// Tells what each op became.
struct LoweringListener : RewriterBase::Listener {
  void notifyOperationReplaced(Operation *op, ValueRange values) override {
    Operation *made = values.empty() ? nullptr : values[0].getDefiningOp();
    LDBG() << op->getName() << " at " << sourcePlace(op->getLoc())
           << " becomes "
           << (made ? made->getName().getStringRef() : "another value");
    ++numLowered;
  }
};

struct ShoalToLinalg : shoal::impl::ShoalToLinalgBase<ShoalToLinalg> {
  void runOnOperation() override {
    if (failed(verifyMeshes(getOperation())))
      return signalPassFailure();
    ProgramNumbering numbering(getOperation());
    replaceEmptyTensors(getOperation());
    leaveWrittenRowsUnset(getOperation());
    RewritePatternSet patterns(&getContext());
#define SHOAL_FAMILY(name) populate##name##Patterns(patterns, numbering);
#include "Families.def"
    LoweringListener listener;
    walkAndApplyPatterns(getOperation(), std::move(patterns), &listener);
    lowerControlFlow(getOperation());
    if (failed(verifyLowered(getOperation())))
      return signalPassFailure();
    noteDonors(getOperation());
    rt::CollectiveStreams::note(getOperation(), numbering.streams);
    dropDescription(getOperation());
  }
};

} // namespace

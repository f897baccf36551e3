// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-fuse-fills.

#include "../Buffers/BufferRange.h"
#include "LoopNest.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Conversion/Device/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-fuse-fills"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_FUSEFILLS
#include "shoal/Conversion/Device/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numFused(DEBUG_TYPE, "Fills that reductions begin with");

static bool touches(Operation *op, Value buffer) {
  return llvm::any_of(findMemrefs(op), [&](Value memref) {
    return findBuffer(memref) == buffer;
  });
}

/// The op that touches the filled buffer next; null if another may in between.
static linalg::GenericOp findNext(linalg::FillOp fill) {
  Value buffer = findBuffer(fill.getOutputs()[0]);
  for (Operation *op = fill->getNextNode(); op; op = op->getNextNode()) {
    if (touches(op, buffer))
      // Another view of it is a value that this one knows nothing of.
      if (!isa<ViewLikeOpInterface>(op))
        return dyn_cast<linalg::GenericOp>(op);
    if (op->getNumRegions() > 0 && !isa<linalg::LinalgOp>(op))
      return nullptr;
  }
  return nullptr;
}

/// The result of `op` that is the filled buffer and that it reduces into;
/// failure where no kernel can run `op`, of which an error has told.
static FailureOr<std::optional<unsigned>> findResult(linalg::GenericOp op,
                                                     linalg::FillOp fill) {
  std::optional<unsigned> result, none;
  if (!op.hasPureBufferSemantics() || op.hasDynamicShape() ||
      op.getNumReductionLoops() == 0)
    return none;
  Value filled = fill.getOutputs()[0];
  auto isFilled = [&](Value memref) {
    return findBuffer(memref) == findBuffer(filled);
  };
  for (OpOperand &init : op.getDpsInitsMutable())
    if (init.get() == filled)
      result = init.getOperandNumber() - op.getNumDpsInputs();
  if (!result || llvm::count_if(findMemrefs(op), isFilled) != 1)
    return none;
  FailureOr<LoopNest> nest = analyzeLoops(op);
  if (failed(nest))
    return failure();
  if (nest->isEmpty())
    return none;
  const Access &access = nest->accesses[op.getNumDpsInputs() + *result];
  return nest->getResultKind(access) == ResultKind::Reduced ? result : none;
}

static LogicalResult fuse(linalg::FillOp fill) {
  TypedAttr value;
  linalg::GenericOp op = findNext(fill);
  if (!op || !matchPattern(fill.getInputs()[0], m_Constant(&value)))
    return success();
  FailureOr<std::optional<unsigned>> found = findResult(op, fill);
  if (failed(found))
    return failure();
  std::optional<unsigned> result = *found;
  if (!result)
    return success();
  LDBG() << "the reduction at " << sourcePlace(op.getLoc()) << " begins with "
         << value;
  ++numFused;
  Builder builder(op);
  SmallVector<Attribute> initial(op.getNumDpsInits(), builder.getUnitAttr());
  if (auto before = op->getAttrOfType<ArrayAttr>(kInitialAttr))
    initial = llvm::to_vector(before);
  initial[*result] = value;
  op->setAttr(kInitialAttr, builder.getArrayAttr(initial));
  fill.erase();
  return success();
}

namespace {

struct FuseFills : shoal::impl::FuseFillsBase<FuseFills> {
  void runOnOperation() override {
    SmallVector<linalg::FillOp> fills;
    getOperation().walk([&](linalg::FillOp fill) {
      if (fill.hasPureBufferSemantics())
        fills.push_back(fill);
    });
    for (linalg::FillOp fill : fills)
      if (failed(fuse(fill)))
        return signalPassFailure();
  }
};

} // namespace

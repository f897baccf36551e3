// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// MLIR's elimination of common subexpressions keeps ops in a table by a hash of
// their names, attributes and operands. An attribute is therefore how a hash of
// regions gets into it: equal ops have equal ones, so it keeps none apart.

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/CSE.h"
#include "shoal/Conversion/Cleanup/Passes.h"
#include "shoal/Conversion/Cleanup/RegionHash.h"

namespace shoal {
#define GEN_PASS_DEF_MERGEEQUALOPS
#include "shoal/Conversion/Cleanup/Passes.h.inc"
} // namespace shoal

using namespace mlir;

// Of no dialect, which could refuse it, and of no program: names of attributes
// that users can write have no spaces.
static constexpr StringLiteral kRegions = "hash of regions";

namespace {

struct MergeEqualOps : shoal::impl::MergeEqualOpsBase<MergeEqualOps> {
  void runOnOperation() override {
    Operation *root = getOperation();
    SmallVector<Operation *> marked = findOpsWithRegions(root);
    markRegions(marked);
    IRRewriter rewriter(root->getContext());
    bool changed = false;
    eliminateCommonSubExpressions(rewriter, getAnalysis<DominanceInfo>(), root,
                                  &changed);
    // Some of them are gone.
    root->walk([](Operation *op) {
      if (op->getNumRegions())
        op->removeDiscardableAttr(kRegions);
    });
    if (!changed)
      return markAllAnalysesPreserved();
    markAnalysesPreserved<DominanceInfo, PostDominanceInfo>();
  }

private:
  /// Those that might be equal to others, as functions are not.
  static SmallVector<Operation *> findOpsWithRegions(Operation *root) {
    SmallVector<Operation *> found;
    root->walk([&](Operation *op) {
      if (op != root && op->getNumRegions() && op->getNumResults() &&
          !isa<SymbolOpInterface>(op))
        found.push_back(op);
    });
    return found;
  }

  static void markRegions(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      auto hash = static_cast<int64_t>(size_t(shoal::hashRegions(op)));
      op->setDiscardableAttr(
          kRegions,
          IntegerAttr::get(IntegerType::get(op->getContext(), 64), hash));
    }
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Descriptor.h"
#include "Families.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/CustomCallOps.h"

using namespace mlir;
using namespace shoal;

static void addText(Descriptor &desc, StringRef text) {
  desc.add(text.size());
  for (char c : text)
    desc.add(c);
}

namespace {

/// The runtime calls the user's function.
struct LowerCustomCall : OpRewritePattern<CustomCallOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CustomCallOp op,
                                PatternRewriter &rewriter) const override {
    if (op.isIdentity())
      return failure();
    Descriptor desc;
    desc.add(op.getInputs().size()).add(op.getNumResults());
    for (TypeRange types :
         {TypeRange(op.getInputs()), TypeRange(op.getResults())})
      for (Type type : types)
        desc.addType(type)
            .add(cast<RankedTensorType>(type).getRank())
            .addShape(type);
    addText(desc, op.getTarget());
    addText(desc, op.getConfig().value_or(""));
    SmallVector<Value> results =
        makeRuntimeCall(rewriter, op.getLoc(), "custom_call", desc.get(),
                        op.getInputs(), op.getResultTypes());
    results.front().getDefiningOp<rt::CallOp>().setFunctionAttr(
        op.getTargetAttr());
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void shoal::populateCustomCallPatterns(RewritePatternSet &patterns,
                                       const ProgramNumbering &) {
  patterns.add<LowerCustomCall>(patterns.getContext());
}

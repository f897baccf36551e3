// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls of functions that take rows past the end as zeros.

#include "Models.h"
#include "Shapes.h"
#include "shoal/Dialect/Shoal/IR/CustomCallOps.h"
#include "shoal/Transforms/Partition/Localizer.h"

using namespace mlir;
using namespace shoal;

namespace {

struct CustomCall
    : LocalizeOpInterface::ExternalModel<CustomCall, CustomCallOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<CustomCallOp>(operation);
    SmallVector<Value> operands(l.operands);
    // Without these letters all splits are even.
    if (op.getRule() && op.getPadded()) {
      std::optional<CallRule> rule = CallRule::parse(*op.getRule());
      for (auto [i, operand] : llvm::enumerate(operands))
        operand = zeroPadding(op, i, rule->operands[i], operand, l);
    }
    Localizer masked(l.builder, l.mesh, l.meshSymbol, op, operands,
                     l.operandShardings, l.resultShardings);
    llvm::append_range(results, masked.cloneLocally()->getResults());
    return success();
  }

private:
  static Value zeroPadding(CustomCallOp op, unsigned i, StringRef letters,
                           Value operand, Localizer &l) {
    SmallVector<int64_t> dims;
    for (auto [dim, letter] : llvm::enumerate(letters))
      if (op.getPadded()->contains(letter))
        dims.push_back(dim);
    auto element = cast<RankedTensorType>(operand.getType()).getElementType();
    return l.maskPadding(operand, shapeOf(op.getInputs()[i]),
                         l.operandShardings[i], dims,
                         l.builder.getZeroAttr(element));
  }
};

} // namespace

void shoal::registerCustomCallLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    CustomCallOp::attachInterface<CustomCall>(*context);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"

using namespace mlir;
using namespace shoal;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

/// The places are rows of the operand, and those of one line differ.
struct TopK : ElementOpInterface::ExternalModel<TopK, TopKOp> {
  int64_t getLimit(Operation *op, unsigned result) const {
    auto shape = sparse::tensorType(op->getOperand(0)).getShape();
    return result == 1 ? shape.back() : 0;
  }
  int64_t getDistinctDim(Operation *op, unsigned result) const {
    return result == 1 ? sparse::tensorType(op->getResult(1)).getRank() - 1
                       : -1;
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

void shoal::registerOrderingElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    TopKOp::attachInterface<TopK>(*context);
  });
}

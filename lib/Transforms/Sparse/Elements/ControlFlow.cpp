// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that forward one operand.

#include "../Forms.h"
#include "Models.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

template <typename Op>
struct Forwarding : ElementOpInterface::ExternalModel<Forwarding<Op>, Op> {
  // Replaces the interface's default.
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
  std::optional<TermList> mapIndex(Operation *op, Terms &,
                                   TermRange index) const {
    if (op->getNumOperands() != 1)
      return std::nullopt;
    return TermList(index.begin(), index.end());
  }
};

} // namespace

void shoal::registerControlFlowElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    RematBoundaryOp::attachInterface<Forwarding<RematBoundaryOp>>(*context);
    CheckpointNameOp::attachInterface<Forwarding<CheckpointNameOp>>(*context);
  });
}

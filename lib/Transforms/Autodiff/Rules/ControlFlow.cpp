// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A barrier of the cotangents.
struct OptimizationBarrier
    : DifferentiableOpInterface::ExternalModel<OptimizationBarrier,
                                               OptimizationBarrierOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    SmallVector<unsigned> operands;
    SmallVector<Value> cotangents;
    for (unsigned i = 0; i < operation->getNumOperands(); ++i)
      if (vjp.wants(i) && vjp.cotangent(i)) {
        operands.push_back(i);
        cotangents.push_back(vjp.cotangent(i));
      }
    auto barrier = OptimizationBarrierOp::create(
        vjp.b, ValueRange(cotangents).getTypes(), cotangents);
    for (auto [i, operand] : llvm::enumerate(operands))
      vjp.add(operand, barrier->getResult(i));
    return success();
  }
};

/// The cotangents: what is kept of the forward pass is no matter of theirs.
template <typename Op>
struct Forwarding
    : DifferentiableOpInterface::ExternalModel<Forwarding<Op>, Op> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    for (unsigned i = 0; i < operation->getNumOperands(); ++i)
      vjp.add(i, vjp.cotangent(i));
    return success();
  }
};

} // namespace

void shoal::registerControlFlowDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    OptimizationBarrierOp::attachInterface<OptimizationBarrier>(*context);
    RematBoundaryOp::attachInterface<Forwarding<RematBoundaryOp>>(*context);
    noGradient<YieldOp>(context, [] { return "it ends a region"; });
    CheckpointNameOp::attachInterface<Forwarding<CheckpointNameOp>>(*context);
  });
}

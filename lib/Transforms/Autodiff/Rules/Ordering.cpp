// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Orders: gradients go back to the places that elements came from.

#include "../Along.h"
#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// An iota sorted along says where each element came from; sorting by that
/// brings the cotangents back, all by one sort. Keys have gradients as well.
struct Sort : DifferentiableOpInterface::ExternalModel<Sort, SortOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<SortOp>(operation);
    TensorBuilder &b = vjp.b;
    ArrayRef<int64_t> shape = tensorTypeOf(op.getInputs()[0]).getShape();
    Value place = b.iota(shape, b.getI32Type(), op.getDim());
    SmallVector<Value> forward(op.getInputs());
    forward.push_back(place);
    auto sorted =
        SortOp::create(b, ValueRange(forward).getTypes(), forward, op.getDim(),
                       op.getNumKeys(), op.getDescending());
    SmallVector<Value> backward{sorted.getResults().back()};
    SmallVector<unsigned> operands;
    for (unsigned i = 0; i < op.getInputs().size(); ++i)
      if (vjp.wants(i) && vjp.cotangent(i)) {
        backward.push_back(vjp.cotangent(i));
        operands.push_back(i);
      }
    auto unsorted = SortOp::create(b, ValueRange(backward).getTypes(), backward,
                                   op.getDim(), /*num_keys=*/1,
                                   /*descending=*/false);
    for (auto [i, operand] : llvm::enumerate(operands))
      vjp.add(operand, unsorted.getResult(i + 1));
    return success();
  }
};

struct TopK : DifferentiableOpInterface::ExternalModel<TopK, TopKOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<TopKOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getInput());
    vjp.add(0, scatterAlong(vjp.b, type, op.getIndices(), vjp.cotangent(),
                            type.getRank() - 1));
    return success();
  }
};

} // namespace

void shoal::registerOrderingDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    SortOp::attachInterface<Sort>(*context);
    TopKOp::attachInterface<TopK>(*context);
    noGradient<ArgMaxOp, ArgMinOp>(context, [] { return "it is a place"; });
  });
}

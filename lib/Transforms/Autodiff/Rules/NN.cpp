// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Composites whose derivative is not that of what they are written out to: a
// convention, or a closed form that reads less. The others are written out.

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/NNOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// y (g - sum(g y)): of the forward pass it reads the result alone.
struct Softmax : DifferentiableOpInterface::ExternalModel<Softmax, SoftmaxOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<SoftmaxOp>(operation);
    TensorBuilder &b = vjp.b;
    int64_t axis = op.getAxis();
    Value y = b.widen(op.getResult()), g = b.widen(vjp.cotangent());
    ArrayRef<int64_t> shape = tensorTypeOf(y).getShape();
    Value mean = b.reduce(ReduceKind::Sum, b.mul(g, y), axis);
    Value gradient = b.mul(y, b.sub(g, b.spread(mean, shape, {axis})));
    vjp.add(0, b.convert(gradient, op.getType().getElementType()));
    return success();
  }
};

/// g s (1 + x (1 - s)) with s = 1 / (1 + exp(-x)). What x / (1 + exp(-x)) is
/// written out to has exp(-x) / (1 + exp(-x))^2 in its gradient, which is no
/// number below -88. The exponential here stays finite, for gradients of this.
struct Silu : DifferentiableOpInterface::ExternalModel<Silu, SiluOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<SiluOp>(operation);
    TensorBuilder &b = vjp.b;
    Expr x(b, b.widen(op.getInput())), g(b, b.widen(vjp.cotangent()));
    bool isDouble = getElementTypeOrSelf(x.get()).isF64();
    Expr kept = x.apply<arith::MaximumFOp>(x.number(isDouble ? -708 : -88));
    Expr s = 1 / (1 + exp(-kept));
    Value gradient = (g * s * (1 + kept * (1 - s))).get();
    vjp.add(0, b.convert(gradient, op.getType().getElementType()));
    return success();
  }
};

} // namespace

void shoal::registerNNDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    SoftmaxOp::attachInterface<Softmax>(*context);
    SiluOp::attachInterface<Silu>(*context);
    // 0 at 0, as of jax.nn.relu; maximumf has halves there.
    elementwise<ReluOp>(context, [](Expr g, Expr, Expr y) {
      return (y > 0).choose(g, g.number(0));
    });
    noGradient<OneHotOp>(context, [] { return "it depends on places alone"; });
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The arithmetic of floats. Conventions at edges are JAX's, but where a comment
// says otherwise.

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/ElementwiseOps.h"

using namespace mlir;
using namespace shoal;

/// The cotangent of an operand x that wins against `other` where `wins` is
/// true: halves of it where both are equal, nothing where either is NaN.
static Expr ofWinner(Expr g, Expr x, Expr other, Expr wins) {
  return wins.choose(g, (x == other).choose(g * 0.5, g.number(0)));
}

static constexpr auto kWhole = [] {
  return "its result is of whole numbers, or of bits";
};

namespace {

/// The gradient in the operand's width. So gradients of weights that are kept
/// in f32 and used in bf16 are f32 until they are added up over devices and
/// steps.
template <typename Op>
struct Conversion
    : DifferentiableOpInterface::ExternalModel<Conversion<Op>, Op> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    Type element = getElementTypeOrSelf(operation->getOperand(0).getType());
    vjp.add(0, convertGradient(vjp.b, vjp.cotangent(), element));
    return success();
  }
};

/// The masks of clamp as of min(max(x, low), high): nothing where x is at a
/// bound, or where the bound is and another wins.
struct Clamp : DifferentiableOpInterface::ExternalModel<Clamp, ClampOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ClampOp>(operation);
    TensorBuilder &b = vjp.b;
    auto spread = [&](Value bound) {
      ArrayRef<int64_t> shape = tensorTypeOf(op.getInput()).getShape();
      return Expr(b, tensorTypeOf(bound).getShape() == shape
                         ? bound
                         : b.broadcast(bound, shape, {}));
    };
    Expr g(b, vjp.cotangent()), x(b, op.getInput());
    Expr low = spread(op.getLow()), high = spread(op.getHigh());
    Expr zero = g.number(0);
    if (vjp.wants(0))
      vjp.add(0, fit((low > x).choose((low < high).choose(g, zero), zero),
                     op.getLow(), b));
    if (vjp.wants(1))
      vjp.add(1, (x > low).choose((x < high).choose(g, zero), zero).get());
    if (vjp.wants(2)) {
      Expr raised = x.apply<arith::MaximumFOp>(low);
      vjp.add(2, fit((raised > high).choose(g, zero), op.getHigh(), b));
    }
    return success();
  }

private:
  /// Summed up where the bound is one number.
  static Value fit(Expr gradient, Value bound, TensorBuilder &b) {
    Value value = gradient.get();
    if (value.getType() == bound.getType())
      return value;
    return b.reduce(ReduceKind::Sum, value,
                    llvm::to_vector(llvm::seq(tensorTypeOf(value).getRank())));
  }
};

} // namespace

static void addArithmetic(MLIRContext *context) {
  using namespace arith;
  using E = Expr;
  elementwise<AddFOp>(
      context, [](E g, E, E, E) { return g; }, [](E g, E, E, E) { return g; });
  elementwise<SubFOp>(
      context, [](E g, E, E, E) { return g; }, [](E g, E, E, E) { return -g; });
  elementwise<MulFOp>(
      context, [](E g, E, E b, E) { return g * b; },
      [](E g, E a, E, E) { return g * a; });
  elementwise<DivFOp>(
      context, [](E g, E, E b, E) { return g / b; },
      [](E g, E, E b, E y) { return -(g / b) * y; });
  elementwise<NegFOp>(context, [](E g, E, E) { return -g; });
  elementwise<RemFOp>(
      context, [](E g, E, E, E) { return g; },
      [](E g, E a, E b, E) { return -g * trunc(a / b); });
  elementwise<MaximumFOp>(
      context, [](E g, E a, E b, E) { return ofWinner(g, a, b, a > b); },
      [](E g, E a, E b, E) { return ofWinner(g, b, a, b > a); });
  elementwise<MinimumFOp>(
      context, [](E g, E a, E b, E) { return ofWinner(g, a, b, a < b); },
      [](E g, E a, E b, E) { return ofWinner(g, b, a, b < a); });
  // To the operand that is the result: the other one may be NaN.
  elementwise<MaxNumFOp>(
      context,
      [](E g, E a, E b, E) {
        return (b != b).choose(g, ofWinner(g, a, b, a > b));
      },
      [](E g, E a, E b, E) {
        return (a != a).choose(g, ofWinner(g, b, a, b > a));
      });
  elementwise<MinNumFOp>(
      context,
      [](E g, E a, E b, E) {
        return (b != b).choose(g, ofWinner(g, a, b, a < b));
      },
      [](E g, E a, E b, E) {
        return (a != a).choose(g, ofWinner(g, b, a, b < a));
      });
  elementwise<SelectOp>(
      context, NoRule(),
      [](E g, E mask, E, E, E) { return mask.choose(g, g.number(0)); },
      [](E g, E mask, E, E, E) { return mask.choose(g.number(0), g); });
  ExtFOp::attachInterface<Conversion<ExtFOp>>(*context);
  TruncFOp::attachInterface<Conversion<TruncFOp>>(*context);
  noGradient<ConstantOp>(context, [] { return "it depends on nothing"; });
  noGradient<AddIOp, SubIOp, MulIOp, DivSIOp, DivUIOp, CeilDivSIOp, CeilDivUIOp,
             FloorDivSIOp, RemSIOp, RemUIOp, AndIOp, OrIOp, XOrIOp, ShLIOp,
             ShRSIOp, ShRUIOp, MaxSIOp, MaxUIOp, MinSIOp, MinUIOp, CmpFOp,
             CmpIOp, ExtSIOp, ExtUIOp, TruncIOp, SIToFPOp, UIToFPOp, FPToSIOp,
             FPToUIOp, BitcastOp, IndexCastOp, IndexCastUIOp>(context, kWhole);
}

void shoal::registerElementwiseDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    addArithmetic(context);
  });
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ClampOp::attachInterface<Clamp>(*context);
    noGradient<BitcastConvertOp>(context, kWhole);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "shoal/Dialect/Shoal/IR/ElementwiseOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

namespace {

using OperandSet = SmallVector<unsigned, 2>;
/// Sets of operands in which an op is linear; see FactorRule::linearIn.
using LinearSets = SmallVector<OperandSet, 2>;

FactorRule elementwiseRule(Operation *op, const LinearSets &linear = {}) {
  auto type = dyn_cast<ShapedType>(op->getResult(0).getType());
  ArrayRef<int64_t> shape = type ? type.getShape() : ArrayRef<int64_t>();
  FactorRule rule = FactorRuleBuilder::elementwise(shape, op->getNumOperands(),
                                                   op->getNumResults());
  rule.linearIn.append(linear.begin(), linear.end());
  return rule;
}

template <typename Op>
struct Elementwise : FactorRuleOpInterface::ExternalModel<Elementwise<Op>, Op> {
  FactorRule getFactorRule(Operation *op) const { return elementwiseRule(op); }
};

/// Linear in all operands together: addition, and ops of one operand.
template <typename Op>
struct Additive : FactorRuleOpInterface::ExternalModel<Additive<Op>, Op> {
  FactorRule getFactorRule(Operation *op) const {
    return elementwiseRule(
        op, {llvm::to_vector<2>(llvm::seq<unsigned>(op->getNumOperands()))});
  }
};

/// Linear in either operand while the other is complete.
template <typename Op>
struct Multiplicative
    : FactorRuleOpInterface::ExternalModel<Multiplicative<Op>, Op> {
  FactorRule getFactorRule(Operation *op) const {
    return elementwiseRule(op, {{0}, {1}});
  }
};

/// Linear in the numerator.
struct Division
    : FactorRuleOpInterface::ExternalModel<Division, arith::DivFOp> {
  FactorRule getFactorRule(Operation *op) const {
    return elementwiseRule(op, {{0}});
  }
};

/// Linear in both branches together. A condition may be one scalar.
struct Select : FactorRuleOpInterface::ExternalModel<Select, arith::SelectOp> {
  FactorRule getFactorRule(Operation *op) const {
    FactorRule rule = elementwiseRule(op, {{1, 2}});
    if (!isa<ShapedType>(op->getOperand(0).getType()))
      rule.operands[0].clear();
    return rule;
  }
};

/// A splat is made in any sharding; other constants are whole on each device.
struct Constant
    : FactorRuleOpInterface::ExternalModel<Constant, arith::ConstantOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *op) const {
    FactorRule rule = elementwiseRule(op);
    if (!isa<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue()))
      for (Factor &factor : rule.factors)
        factor.kind = FactorKind::Replicated;
    return rule;
  }
};

template <template <typename> class Model, typename... Ops>
void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}

/// The bits of an element stay on one device.
struct BitcastConvert
    : FactorRuleOpInterface::ExternalModel<BitcastConvert, BitcastConvertOp> {
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<BitcastConvertOp>(operation);
    RankedTensorType from = tensorTypeOf(op.getInput());
    RankedTensorType to = tensorTypeOf(op.getResult());
    int64_t shared = std::min(from.getRank(), to.getRank());
    FactorRuleBuilder builder({from.getRank()}, {to.getRank()});
    for (int64_t d = 0; d < shared; ++d)
      builder.addFactor(from.getDimSize(d), {d}, {d});
    if (from.getRank() > shared)
      builder.addFactor(from.getShape().back(), {shared}, {-1},
                        FactorKind::Replicated);
    if (to.getRank() > shared)
      builder.addFactor(to.getShape().back(), {-1}, {shared},
                        FactorKind::Replicated);
    return builder.build();
  }
};

} // namespace

void shoal::registerElementwiseFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    // A wider float type holds every addend exactly; a narrower one rounds.
    attach<Additive, AddFOp, SubFOp, NegFOp, AddIOp, SubIOp, ExtFOp>(context);
    attach<Multiplicative, MulFOp, MulIOp>(context);
    DivFOp::attachInterface<Division>(*context);
    SelectOp::attachInterface<Select>(*context);
    ConstantOp::attachInterface<Constant>(*context);
    attach<Elementwise, RemFOp, MaximumFOp, MinimumFOp, MaxNumFOp, MinNumFOp,
           CmpFOp, CmpIOp, DivSIOp, DivUIOp, CeilDivSIOp, CeilDivUIOp,
           FloorDivSIOp, RemSIOp, RemUIOp, AndIOp, OrIOp, XOrIOp, ShLIOp,
           ShRSIOp, ShRUIOp, MaxSIOp, MaxUIOp, MinSIOp, MinUIOp, TruncFOp,
           ExtSIOp, ExtUIOp, TruncIOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp,
           BitcastOp, IndexCastOp, IndexCastUIOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attach<Elementwise, AbsFOp, AbsIOp, AcosOp, AcoshOp, AsinOp, AsinhOp,
           AtanOp, Atan2Op, AtanhOp, CbrtOp, CeilOp, CopySignOp, CosOp, CoshOp,
           SinOp, SinhOp, CountLeadingZerosOp, CountTrailingZerosOp, CtPopOp,
           ErfOp, ErfcOp, ExpOp, Exp2Op, ExpM1Op, FloorOp, FmaOp, FPowIOp,
           IPowIOp, IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp, LogOp, Log10Op,
           Log1pOp, Log2Op, PowFOp, RsqrtOp, RoundOp, RoundEvenOp, SqrtOp,
           TanOp, TanhOp, TruncOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    BitcastConvertOp::attachInterface<BitcastConvert>(*context);
  });
}

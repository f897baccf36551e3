// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What registers the derivative rules of each family, and the two forms that
// most of them have.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_RULES_RULES_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_RULES_RULES_H

#include "../Expr.h"
#include "shoal/Transforms/Autodiff/Vjp.h"
#include <tuple>

namespace shoal {

#define SHOAL_FAMILY(name)                                                     \
  void register##name##DerivativeRules(mlir::DialectRegistry &registry);
#include "Families.def"

/// The rule of an operand that has no cotangent, as a condition.
struct NoRule {};

/// The model of an elementwise op of one result: a formula an operand, of the
/// cotangent, the operands and the result.
template <typename Op, typename... Formulas>
struct ElementwiseRule
    : DifferentiableOpInterface::ExternalModel<ElementwiseRule<Op, Formulas...>,
                                               Op> {
  llvm::LogicalResult buildVjp(mlir::Operation *op, Vjp &vjp) const {
    build(op, vjp, std::index_sequence_for<Formulas...>());
    return llvm::success();
  }

private:
  template <size_t... I>
  static void build(mlir::Operation *op, Vjp &vjp,
                    std::index_sequence<I...> s) {
    (buildOne<Formulas, I>(op, vjp, s), ...);
  }
  template <typename Formula, size_t Operand, size_t... I>
  static void buildOne(mlir::Operation *op, Vjp &vjp,
                       std::index_sequence<I...>) {
    if constexpr (!std::is_same_v<Formula, NoRule>)
      if (vjp.wants(Operand))
        vjp.add(Operand, Formula()(Expr(vjp.b, vjp.cotangent()),
                                   Expr(vjp.b, op->getOperand(I))...,
                                   Expr(vjp.b, op->getResult(0)))
                             .get());
  }
};

/// `elementwise<math::TanhOp>(context, [](Expr g, Expr x, Expr y) { ... })`.
template <typename Op, typename... Formulas>
void elementwise(mlir::MLIRContext *context, Formulas...) {
  Op::template attachInterface<ElementwiseRule<Op, Formulas...>>(*context);
}

/// The model of an op of which there is no gradient. `Reason` is a lambda
/// without captures that returns a text.
template <typename Op, typename Reason>
struct NoGradientRule
    : DifferentiableOpInterface::ExternalModel<NoGradientRule<Op, Reason>, Op> {
  llvm::LogicalResult buildVjp(mlir::Operation *, Vjp &) const {
    return llvm::success();
  }
  static llvm::StringRef getNoGradientReason() { return Reason()(); }
};

/// `noGradient<CmpFOp, CmpIOp>(context, [] { return "..."; })`.
template <typename... Ops, typename Reason>
void noGradient(mlir::MLIRContext *context, Reason) {
  (Ops::template attachInterface<NoGradientRule<Ops, Reason>>(*context), ...);
}

/// The model of an op whose gradient is refused, by a text as of
/// NoGradientRule.
template <typename Op, typename Reason>
struct RefusalRule
    : DifferentiableOpInterface::ExternalModel<RefusalRule<Op, Reason>, Op> {
  llvm::LogicalResult buildVjp(mlir::Operation *, Vjp &vjp) const {
    return vjp.refuse(Reason()());
  }
  static llvm::StringRef getRefusal() { return Reason()(); }
};

/// `refuse<ManualComputationOp>(context, [] { return "..."; })`.
template <typename... Ops, typename Reason>
void refuse(mlir::MLIRContext *context, Reason) {
  (Ops::template attachInterface<RefusalRule<Ops, Reason>>(*context), ...);
}

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_RULES_RULES_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Elementwise.h"
#include "Combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace shoal::reference {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// What an undefined integer result is.
static constexpr int64_t undefined = 0x5A5A5A5A5A5A5A5A;

/// Quotient and remainder that never trap: wrapping at the smallest integer,
/// `undefined` for a divisor of zero.
static int64_t divide(int64_t a, int64_t b) {
  if (b == 0)
    return undefined;
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
static int64_t remainder(int64_t a, int64_t b) {
  if (b == 0)
    return undefined;
  return b == -1 ? 0 : a % b;
}
static int64_t floorDivide(int64_t a, int64_t b) {
  bool isInexact = b != 0 && remainder(a, b) != 0;
  return divide(a, b) - (isInexact && (a < 0) != (b < 0));
}
static int64_t ceilDivide(int64_t a, int64_t b) {
  bool isInexact = b != 0 && remainder(a, b) != 0;
  return divide(a, b) + (isInexact && (a < 0) == (b < 0));
}

using S = int64_t;
using U = uint64_t;

static void attachIntegerModels(MLIRContext *c) {
  attachElementwise<arith::AddIOp, [](U a, U b) { return a + b; }>(c);
  attachElementwise<arith::SubIOp, [](U a, U b) { return a - b; }>(c);
  attachElementwise<arith::MulIOp, [](U a, U b) { return a * b; }>(c);
  attachElementwise<arith::DivSIOp, [](S a, S b) { return divide(a, b); }>(c);
  attachElementwise<arith::RemSIOp, [](S a, S b) { return remainder(a, b); }>(
      c);
  attachElementwise<arith::FloorDivSIOp,
                    [](S a, S b) { return floorDivide(a, b); }>(c);
  attachElementwise<arith::CeilDivSIOp,
                    [](S a, S b) { return ceilDivide(a, b); }>(c);
  attachElementwise<arith::DivUIOp,
                    [](U a, U b) { return b ? a / b : U(undefined); }>(c);
  attachElementwise<arith::RemUIOp,
                    [](U a, U b) { return b ? a % b : U(undefined); }>(c);
  attachElementwise<arith::CeilDivUIOp, [](U a, U b) {
    return b ? a / b + (a % b != 0) : U(undefined);
  }>(c);
  attachElementwise<arith::AndIOp, [](U a, U b) { return a & b; }>(c);
  attachElementwise<arith::OrIOp, [](U a, U b) { return a | b; }>(c);
  attachElementwise<arith::XOrIOp, [](U a, U b) { return a ^ b; }>(c);
  attachElementwise<arith::ShLIOp,
                    [](U a, U b) { return b < 64 ? a << b : 0; }>(c);
  attachElementwise<arith::ShRUIOp,
                    [](U a, U b) { return b < 64 ? a >> b : 0; }>(c);
  attachElementwise<arith::ShRSIOp,
                    [](S a, S b) { return a >> (U(b) < 64 ? b : 63); }>(c);
  attachElementwise<arith::MaxSIOp, [](S a, S b) { return std::max(a, b); }>(c);
  attachElementwise<arith::MinSIOp, [](S a, S b) { return std::min(a, b); }>(c);
  attachElementwise<arith::MaxUIOp, [](U a, U b) { return std::max(a, b); }>(c);
  attachElementwise<arith::MinUIOp, [](U a, U b) { return std::min(a, b); }>(c);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

using F = double;

static void attachFloatModels(MLIRContext *c) {
  attachElementwise<arith::AddFOp, [](F a, F b) { return a + b; }>(c);
  attachElementwise<arith::SubFOp, [](F a, F b) { return a - b; }>(c);
  attachElementwise<arith::MulFOp, [](F a, F b) { return a * b; }>(c);
  attachElementwise<arith::DivFOp, [](F a, F b) { return a / b; }>(c);
  attachElementwise<arith::RemFOp, [](F a, F b) { return std::fmod(a, b); }>(c);
  attachElementwise<arith::NegFOp, [](F a) { return -a; }>(c);
  attachElementwise<arith::MaximumFOp, [](F a, F b) { return maximum(a, b); }>(
      c);
  attachElementwise<arith::MinimumFOp, [](F a, F b) { return minimum(a, b); }>(
      c);
  attachElementwise<arith::MaxNumFOp, [](F a, F b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : maximum(a, b);
  }>(c);
  attachElementwise<arith::MinNumFOp, [](F a, F b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : minimum(a, b);
  }>(c);
}

//===----------------------------------------------------------------------===//
// Comparison and choice
//===----------------------------------------------------------------------===//

namespace {
/// What a predicate says, by the order of two numbers.
struct Outcomes {
  bool less, equal, greater, unordered;

  template <typename T>
  bool of(T a, T b) const {
    return a < b ? less : a == b ? equal : a > b ? greater : unordered;
  }
};
} // namespace

template <typename T>
static Tensors compareElements(const TensorType &type,
                               ArrayRef<Tensor> operands,
                               const Outcomes &outcomes) {
  Tensor result(type);
  ElementType element = operands[0].getElementType();
  for (auto [outcome, a, b] :
       llvm::zip_equal(result.getMutableElements(), operands[0].getElements(),
                       operands[1].getElements()))
    outcome.i = outcomes.of(read<T>(element, a), read<T>(element, b));
  return {result};
}

static FailureOr<Tensors> evaluateCmpF(arith::CmpFOp op,
                                       ArrayRef<Tensor> operands) {
  auto apply = [&](double a, double b) {
    return arith::applyCmpPredicate(op.getPredicate(), APFloat(a), APFloat(b));
  };
  return compareElements<F>(
      resultType(op), operands,
      {apply(0, 1), apply(0, 0), apply(1, 0),
       apply(std::numeric_limits<double>::quiet_NaN(), 0)});
}

static FailureOr<Tensors> evaluateCmpI(arith::CmpIOp op,
                                       ArrayRef<Tensor> operands) {
  auto apply = [&](int64_t a, int64_t b) {
    return arith::applyCmpPredicate(op.getPredicate(),
                                    APInt(64, a, /*isSigned=*/true),
                                    APInt(64, b, /*isSigned=*/true));
  };
  Outcomes outcomes = {apply(0, 1), apply(0, 0), apply(1, 0), false};
  // As an unsigned number -1 is the largest.
  bool isSigned = apply(-1, 0) == outcomes.less;
  return isSigned ? compareElements<S>(resultType(op), operands, outcomes)
                  : compareElements<U>(resultType(op), operands, outcomes);
}

static FailureOr<Tensors> evaluateSelect(arith::SelectOp op,
                                         ArrayRef<Tensor> operands) {
  const Tensor &condition = operands[0];
  if (condition.getType().rank() == 0)
    return Tensors{condition[0].i ? operands[1] : operands[2]};
  Tensor result(resultType(op));
  for (auto [element, c, a, b] :
       llvm::zip_equal(result.getMutableElements(), condition.getElements(),
                       operands[1].getElements(), operands[2].getElements()))
    element = c.i ? a : b;
  return Tensors{result};
}

void registerElementwiseModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachIntegerModels(context);
    attachFloatModels(context);
    attach<arith::CmpFOp, evaluateCmpF>(context);
    attach<arith::CmpIOp, evaluateCmpI>(context);
    attach<arith::SelectOp, evaluateSelect>(context);
  });
}

} // namespace shoal::reference

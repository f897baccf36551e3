// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scatter: an update gets the cotangent of the place where it is in the result,
// the operand that of the rest.

#include "../IndexedReads.h"
#include "Rules.h"

using namespace mlir;
using namespace shoal;

namespace {

struct Scatter : DifferentiableOpInterface::ExternalModel<Scatter, ScatterOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ScatterOp>(operation);
    if (!op.getKind())
      ofOverwrite(op, vjp);
    else if (*op.getKind() == ReduceKind::Sum)
      ofSum(op, vjp);
    else if (*op.getKind() == ReduceKind::Prod)
      ofProduct(op, vjp);
    else
      ofExtremum(op, vjp);
    return success();
  }

private:
  enum Operand : unsigned { Input = 0, Updates = 2 };

  /// The same scatter of other values.
  static Value again(TensorBuilder &b, ScatterOp op, ReduceKind kind,
                     Value input, Value updates) {
    return ScatterOp::create(
        b, input.getType(), ReduceKindAttr::get(op.getContext(), kind), input,
        op.getIndices(), updates, op.getUpdateWindowDims(),
        op.getInsertedWindowDims(), op.getInputBatchingDims(),
        op.getScatterIndicesBatchingDims(), op.getScatterDimsToOperandDims(),
        op.getIndexVectorDim());
  }

  static void ofSum(ScatterOp op, Vjp &vjp) {
    vjp.add(Input, vjp.cotangent());
    if (vjp.wants(Updates))
      vjp.add(Updates, readWindows(vjp.b, op, vjp.cotangent()));
  }

  /// The last update of a place is the result: its number tells which.
  static void ofOverwrite(ScatterOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    Type number = b.getI64Type();
    RankedTensorType updates = tensorTypeOf(op.getUpdates());
    RankedTensorType input = tensorTypeOf(op.getInput());
    Value count = b.iota(updates.getNumElements(), number, 0);
    Value own = b.reshape(b.add(count, b.splat(count.getType(), int64_t(1))),
                          updates.getShape());
    Value last =
        again(b, op, ReduceKind::Max, b.zeros(input.clone(number)), own);
    Value g = vjp.cotangent();
    if (vjp.wants(Input)) {
      Value untouched =
          b.compare(arith::CmpIPredicate::eq, last, b.zeros(last.getType()));
      vjp.add(Input, b.keepWhere(untouched, g));
    }
    if (vjp.wants(Updates)) {
      Value stays =
          b.compare(arith::CmpIPredicate::eq, readWindows(b, op, last), own);
      vjp.add(Updates, b.keepWhere(stays, readWindows(b, op, g)));
    }
  }

  /// Equal shares for the operand and all updates that are the result.
  static void ofExtremum(ScatterOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    Type element = tensorTypeOf(op.getInput()).getElementType();
    // Of floats of 8 bits there are no sums.
    Type wide = b.sumElement(element);
    auto isEqual = [&](Value x, Value y) {
      return b.convert(b.compare(arith::CmpFPredicate::OEQ, x, y), wide);
    };
    Value stays = isEqual(op.getInput(), op.getResult());
    Value wins = isEqual(op.getUpdates(), readWindows(b, op, op.getResult()));
    Value count = again(b, op, ReduceKind::Sum, stays, wins);
    Value share = b.div(b.convert(vjp.cotangent(), wide), count);
    if (vjp.wants(Input))
      vjp.add(Input, b.convert(b.mul(share, stays), element));
    if (vjp.wants(Updates))
      vjp.add(Updates,
              b.convert(b.mul(readWindows(b, op, share), wins), element));
  }

  /// With z zeros among the updates of a place and N the product of the others:
  /// the operand's slope is N where z is 0, else 0; a zero's is x N where it is
  /// the only one; another update's x N / u where there is none.
  static void ofProduct(ScatterOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    Expr x(b, op.getInput()), u(b, op.getUpdates()), g(b, vjp.cotangent());
    Expr isZero = u == 0;
    Expr zeros =
        x.with(again(b, op, ReduceKind::Sum, b.zeros(op.getType()),
                     b.convert(isZero.get(), op.getType().getElementType())));
    Expr others =
        x.with(again(b, op, ReduceKind::Prod, b.splat(op.getType(), 1.0),
                     isZero.choose(u.number(1), u).get()));
    Expr none = x.number(0);
    if (vjp.wants(Input))
      vjp.add(Input, (g * (zeros == 0).choose(others, none)).get());
    if (!vjp.wants(Updates))
      return;
    Expr weighted = g * x * others;
    auto at = [&](Expr e) { return x.with(readWindows(b, op, e.get())); };
    Expr ofOnlyZero = at((zeros == 1).choose(weighted, none));
    Expr ofOthers = at((zeros == 0).choose(weighted, none));
    vjp.add(Updates,
            isZero.choose(ofOnlyZero, ofOthers / isZero.choose(u.number(1), u))
                .get());
  }
};

} // namespace

void shoal::registerIndexingScatterDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ScatterOp::attachInterface<Scatter>(*context);
  });
}

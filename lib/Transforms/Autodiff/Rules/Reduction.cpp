// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions, whole and running.

#include "../Along.h"
#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct Reduce : DifferentiableOpInterface::ExternalModel<Reduce, ReduceOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ReduceOp>(operation);
    if (op.getKind() == ReduceKind::Sum)
      vjp.add(0, spread(op, vjp.cotangent(), vjp.b));
    else if (op.getKind() == ReduceKind::Prod)
      vjp.add(0, ofProduct(op, vjp.cotangent(), vjp.b));
    else
      vjp.add(0, ofExtremum(op, vjp.cotangent(), vjp.b));
    return success();
  }

private:
  /// What the reduction made, along the dimensions that it reduced.
  static Value spread(ReduceOp op, Value x, TensorBuilder &b) {
    return b.spread(x, tensorTypeOf(op.getInput()).getShape(), op.getDims());
  }

  /// Equal shares for all elements that are the extremum; NaN where it is NaN.
  static Value ofExtremum(ReduceOp op, Value g, TensorBuilder &b) {
    Value x = op.getInput();
    Value mask =
        b.compare(arith::CmpFPredicate::OEQ, x, spread(op, op.getResult(), b));
    Value winners = b.convert(mask, getElementTypeOrSelf(x));
    Value count = b.reduce(ReduceKind::Sum, winners, op.getDims());
    return b.mul(spread(op, b.div(g, count), b), winners);
  }

  /// The product of all others, from both ends: right with any number of zeros.
  static Value ofProduct(ReduceOp op, Value g, TensorBuilder &b) {
    Value x = op.getInput();
    ArrayRef<int64_t> shape = tensorTypeOf(x).getShape();
    SmallVector<int64_t> order, back(shape.size());
    for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
      if (!llvm::is_contained(op.getDims(), dim))
        order.push_back(dim);
    SmallVector<int64_t> lines;
    for (int64_t dim : order)
      lines.push_back(shape[dim]);
    llvm::append_range(order, op.getDims());
    for (auto [to, from] : llvm::enumerate(order))
      back[from] = to;
    int64_t count = 1, last = lines.size();
    for (int64_t dim : op.getDims())
      count *= shape[dim];
    lines.push_back(count);

    Value turned = b.transpose(x, order);
    Value line = b.reshape(turned, lines);
    auto others = [&](bool reverse) -> Value {
      return CumulativeOp::create(b, line.getType(), ReduceKind::Prod, line,
                                  last, /*exclusive=*/true, reverse);
    };
    Value rest = b.mul(others(false), others(true));
    Value result = b.reshape(rest, tensorTypeOf(turned).getShape());
    return b.mul(spread(op, g, b), b.transpose(result, back));
  }
};

struct Cumulative
    : DifferentiableOpInterface::ExternalModel<Cumulative, CumulativeOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<CumulativeOp>(operation);
    TensorBuilder &b = vjp.b;
    Value g = vjp.cotangent();
    int64_t dim = op.getDim();
    if (op.getKind() == ReduceKind::Sum) {
      vjp.add(0, CumulativeOp::create(b, op.getType(), ReduceKind::Sum, g, dim,
                                      op.getExclusive(), !op.getReverse()));
      return success();
    }
    // The others as running forwards over all elements up to each.
    Value x = op.getInput();
    if (op.getReverse()) {
      x = b.reverse(x, dim);
      g = b.reverse(g, dim);
    }
    if (op.getExclusive())
      g = shiftDown(b, g, dim, 1);
    Value gradient = op.getKind() == ReduceKind::Prod
                         ? ofProducts(x, g, dim, b)
                         : ofExtrema(x, g, dim, op.getKind(), b);
    vjp.add(0, op.getReverse() ? b.reverse(gradient, dim) : gradient);
    return success();
  }

private:
  static Value running(ReduceKind kind, Value x, int64_t dim, bool exclusive,
                       TensorBuilder &b) {
    return CumulativeOp::create(b, x.getType(), kind, x, dim, exclusive,
                                /*reverse=*/false);
  }

  /// dx[j] = E[j] R[j]: E the products before j, R[j] = g[j] + x[j+1] R[j+1],
  /// which takes log2(n) steps of twice the length. No division, right with any
  /// number of zeros.
  static Value ofProducts(Value x, Value g, int64_t dim, TensorBuilder &b) {
    Value factor = shiftDown(b, x, dim, 1), rest = g;
    int64_t size = tensorTypeOf(x).getDimSize(dim);
    for (int64_t step = 1; step < size; step *= 2) {
      rest = b.add(rest, b.mul(factor, shiftDown(b, rest, dim, step)));
      factor = b.mul(factor, shiftDown(b, factor, dim, step));
    }
    return b.mul(running(ReduceKind::Prod, x, dim, /*exclusive=*/true, b),
                 rest);
  }

  /// The cotangent of each running extremum goes to the element that it is, the
  /// first one of equals. (JAX shares it along its tree of operations.)
  static Value ofExtrema(Value x, Value g, int64_t dim, ReduceKind kind,
                         TensorBuilder &b) {
    auto places = tensorTypeOf(x).clone(b.getI32Type());
    Value place = b.iota(places.getShape(), b.getI32Type(), dim);
    Value before = running(kind, x, dim, /*exclusive=*/true, b);
    // NaN wins, too, over what is not NaN.
    Value beats = arith::OrIOp::create(
        b,
        b.compare(kind == ReduceKind::Max ? arith::CmpFPredicate::OGT
                                          : arith::CmpFPredicate::OLT,
                  x, before),
        arith::AndIOp::create(
            b, b.compare(arith::CmpFPredicate::UNO, x, x),
            b.compare(arith::CmpFPredicate::ORD, before, before)));
    Value winner = running(ReduceKind::Max, b.keepWhere(beats, place), dim,
                           /*exclusive=*/false, b);
    return scatterAlong(b, x.getType(), winner, g, dim);
  }
};

} // namespace

void shoal::registerReductionDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReduceOp::attachInterface<Reduce>(*context);
    CumulativeOp::attachInterface<Cumulative>(*context);
  });
}

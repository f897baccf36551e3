// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GShard's gating (Algorithm 1, for any k) as a composite. Everything but the
// auxiliary loss stays inside a group, so that G can be split freely.

#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/NNOps.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/RandomOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace shoal;

/// capacity_factor * k * S / E, before it is rounded up.
static double scaleCapacity(TopKGatingOp op, double factor) {
  ArrayRef<int64_t> shape = tensorTypeOf(op.getGates()).getShape();
  return factor * static_cast<double>(op.getK()) *
         static_cast<double>(shape[1]) / static_cast<double>(shape[2]);
}

int64_t TopKGatingOp::getExpertCapacity() {
  if (std::optional<int64_t> capacity = getCapacity())
    return *capacity;
  double factor = getCapacityFactor()->convertToDouble();
  return std::max<int64_t>(
      getMinCapacity(),
      static_cast<int64_t>(std::ceil(scaleCapacity(*this, factor))));
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Positions are counted in i32.
static constexpr int64_t kMaxCapacity = std::numeric_limits<int32_t>::max();

/// (C2): one of capacity and capacity_factor, and a capacity that can be.
static LogicalResult verifyCapacity(TopKGatingOp op) {
  if (op.getCapacity().has_value() == op.getCapacityFactor().has_value())
    return op.emitOpError()
           << "expected either capacity or capacity_factor but got "
           << (op.getCapacity() ? "both" : "none");
  auto verifyInt = [&](StringRef name, int64_t value) {
    if (value >= 1 && value <= kMaxCapacity)
      return success();
    return LogicalResult(op.emitOpError()
                         << name << ": expected 1 to " << kMaxCapacity
                         << " but got " << value);
  };
  if (std::optional<int64_t> capacity = op.getCapacity())
    return verifyInt("capacity", *capacity);
  double factor = op.getCapacityFactor()->convertToDouble();
  if (!(factor > 0.0 && scaleCapacity(op, factor) <= kMaxCapacity))
    return op.emitOpError()
           << "capacity_factor: expected a positive number that gives at most "
           << kMaxCapacity << " places but got " << op.getCapacityFactorAttr();
  return verifyInt("min_capacity", op.getMinCapacity());
}

LogicalResult TopKGatingOp::verify() {
  RankedTensorType gates = tensorTypeOf(getGates());
  if (gates.getRank() != 3) // (C1)
    return emitOpError() << "operand 0: expected rank 3, [G, S, E], but got "
                         << gates.getRank();
  int64_t k = getK(), experts = gates.getDimSize(2);
  if (k < 1 || k > experts)
    return emitOpError() << "k: expected 1 to " << experts
                         << ", the number of experts, but got " << k;
  if (gates.getDimSize(1) > kMaxCapacity / k)
    return emitOpError() << "operand 0 dim 1: k times " << gates.getDimSize(1)
                         << " tokens are more than positions count, "
                         << kMaxCapacity;
  if (failed(verifyCapacity(*this)))
    return failure();
  SmallVector<int64_t> shape(gates.getShape());
  shape.push_back(getExpertCapacity());
  Type element = gates.getElementType();
  if (failed(verifyResult(*this, 0, shape, element)) || // (C3)
      failed(verifyResult(*this, 1, shape, element)) ||
      failed(verifyResult(*this, 2, {}, element)))
    return failure();
  return getKey() ? verifyKey(*this, "operand 1", getKey()) // (C4)
                  : success();
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

namespace {

/// Builds the routing of one op, choice by choice.
class GatingBuilder {
public:
  GatingBuilder(OpBuilder &builder, TopKGatingOp op)
      : b(builder, op), op(op), gates(b.widen(op.getGates())) {
    ArrayRef<int64_t> shape = tensorTypeOf(gates).getShape();
    groups = shape[0];
    tokens = shape[1];
    experts = shape[2];
    capacity = op.getExpertCapacity();
    element = tensorTypeOf(op.getGates()).getElementType();
  }

  SmallVector<Value> build() {
    int64_t k = op.getK();
    RankedTensorType topType = tensorTypeOf(gates).clone({groups, tokens, k});
    auto top = TopKOp::create(b, topType, topType.clone(b.getI32Type()), gates,
                              op.getKAttr());
    Value sum = b.reduce(ReduceKind::Sum, top.getValues(), {2});
    Value aux;
    for (int64_t choice = 0; choice < k; ++choice) {
      Value expert = column(top.getIndices(), choice);
      Value weight = b.div(column(top.getValues(), choice), sum);
      Value mask = b.oneHotMask(expert, {groups, tokens, experts}, 2);
      Value position = assignPositions(mask);
      if (choice == 0)
        aux = buildAuxiliaryLoss();
      addChoice(mask, position, weight, choice);
    }
    return {combine, dispatch, aux};
  }

private:
  /// Column `choice` of a [G, S, k] tensor, as [G, S].
  Value column(Value x, int64_t choice) {
    return b.reshape(b.sliceDim(x, 2, choice, choice + 1), {groups, tokens});
  }

  /// The position [G, S] of each token in the buffer of the expert that `mask`
  /// [G, S, E] gives it: behind all earlier choices of the expert. Adds this
  /// choice to `counts`.
  Value assignPositions(Value mask) {
    Value ones = b.convert(mask, b.getI32Type());
    Value positions =
        CumulativeOp::create(b, ones.getType(), ReduceKind::Sum, ones,
                             /*dim=*/1, /*exclusive=*/true, /*reverse=*/false);
    if (counts)
      positions = b.add(positions,
                        b.broadcast(counts, {groups, tokens, experts}, {0, 2}));
    Value chosen = b.reduce(ReduceKind::Sum, ones, {1});
    counts = counts ? b.add(counts, chosen) : chosen;
    return b.reduce(ReduceKind::Sum, b.keepWhere(mask, positions), {2});
  }

  /// Mean over groups of (1/E) sum_e (c_e / S) m_e, from the counts of the
  /// first choices.
  Value buildAuxiliaryLoss() {
    Value means = b.scale(b.reduce(ReduceKind::Sum, gates, {1}),
                          1.0 / static_cast<double>(tokens));
    Type wide = tensorTypeOf(gates).getElementType();
    Value shares =
        b.scale(b.convert(counts, wide), 1.0 / static_cast<double>(tokens));
    Value sum = b.reduce(ReduceKind::Sum, b.mul(shares, means), {0, 1});
    double terms = static_cast<double>(groups) * static_cast<double>(experts);
    return b.convert(b.scale(sum, 1.0 / terms), element);
  }

  /// Random routing: true where choice `choice` of the token is kept.
  Value buildRandomKeep(Value weight, int64_t choice) {
    auto keyType = cast<RankedTensorType>(op.getKey().getType());
    Type word = keyType.getElementType();
    Value step = arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               keyType, {cast<Attribute>(b.getIntegerAttr(word, 0)),
                         cast<Attribute>(b.getIntegerAttr(word, choice))}));
    Value rnd = RandomOp::create(b, weight.getType(), Distribution::Uniform,
                                 b.add(op.getKey(), step));
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                 b.scale(weight, 2.0), rnd);
  }

  /// Adds one choice to `combine` and `dispatch`. A token past the capacity
  /// drops out by itself: its position has no one in a one-hot of size C.
  void addChoice(Value mask, Value position, Value weight, int64_t choice) {
    SmallVector<int64_t> shape = {groups, tokens, experts};
    if (op.getKey() && choice > 0) {
      Value keep = buildRandomKeep(weight, choice);
      mask = arith::AndIOp::create(b, mask, b.broadcast(keep, shape, {0, 1}));
    }
    Value slots = b.convert(
        b.oneHotMask(position, {groups, tokens, capacity}, 2), element);
    Value weights = b.keepWhere(
        mask, b.broadcast(b.convert(weight, element), shape, {0, 1}));
    accumulate(combine, weights, slots);
    accumulate(dispatch, b.convert(mask, element), slots);
  }

  void accumulate(Value &total, Value byExpert, Value bySlot) {
    auto type =
        RankedTensorType::get({groups, tokens, experts, capacity}, element);
    Value term = EinsumOp::create(b, type, "GSE,GSC->GSEC",
                                  ValueRange{byExpert, bySlot});
    total = total ? b.add(total, term) : term;
  }

  TensorBuilder b;
  TopKGatingOp op;
  Value gates;
  int64_t groups, tokens, experts, capacity;
  Type element;
  /// Choices so far of each expert, [G, E] in i32.
  Value counts;
  Value combine, dispatch;
};

} // namespace

SmallVector<Value> TopKGatingOp::decompose(OpBuilder &builder) {
  return GatingBuilder(builder, *this).build();
}

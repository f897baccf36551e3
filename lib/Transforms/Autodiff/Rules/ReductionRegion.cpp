// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions whose combiner is a region. It is associative and commutative, so
// the result is that of a tree: of n elements in log2(n) steps, each of which
// combines all neighbours at once by the combiner's ops on tensors. Those have
// rules; where the combiner chooses, the chosen one has the cotangent.

#include "../PullBack.h"
#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;

using Values = SmallVector<Value>;

/// The combiner of whole tensors of one shape.
static Values combine(TensorBuilder &b, ReduceRegionOp op, ArrayRef<Value> lhs,
                      ArrayRef<Value> rhs) {
  Block &body = op.getCombiner().front();
  ArrayRef<int64_t> shape = tensorTypeOf(lhs[0]).getShape();
  IRMapping mapping;
  Values arguments(lhs);
  llvm::append_range(arguments, rhs);
  mapping.map(body.getArguments(), arguments);
  for (Operation &scalar : body.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(scalar)) {
      auto type = RankedTensorType::get(shape, constant.getType());
      mapping.map(constant.getResult(),
                  arith::ConstantOp::create(
                      b, SplatElementsAttr::get(type, constant.getValue())));
      continue;
    }
    OperationState state(b.getLoc(), scalar.getName());
    state.addAttributes(scalar.getAttrs());
    for (Value operand : scalar.getOperands())
      state.operands.push_back(mapping.lookup(operand));
    for (Type type : scalar.getResultTypes())
      state.types.push_back(RankedTensorType::get(shape, type));
    mapping.map(scalar.getResults(), b.create(state)->getResults());
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value v) { return mapping.lookup(v); });
}

/// The elements to reduce one behind the other, along the last dimension.
static Value inLines(TensorBuilder &b, ReduceRegionOp op, Value x) {
  ArrayRef<int64_t> shape = tensorTypeOf(x).getShape();
  SmallVector<int64_t> order, lines;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim))) {
      order.push_back(dim);
      lines.push_back(size);
    }
  int64_t count = 1;
  for (int64_t dim : op.getDims()) {
    order.push_back(dim);
    count *= shape[dim];
  }
  lines.push_back(count);
  return b.reshape(b.transpose(x, order), lines);
}

/// Each two neighbours of the last dimension, the one or the other; behind an
/// odd number stands `init`, which changes nothing.
static Value everySecond(TensorBuilder &b, Value x, Value init, bool first) {
  SmallVector<int64_t> shape(tensorTypeOf(x).getShape());
  int64_t last = shape.size() - 1, pairs = llvm::divideCeil(shape[last], 2);
  if (shape[last] % 2 != 0) {
    SmallVector<int64_t> none(shape.size(), 0), high(none);
    high[last] = 1;
    ++shape[last];
    x = PadOp::create(b, tensorTypeOf(x).clone(shape), x, init, none, high,
                      none);
  }
  shape[last] = pairs;
  SmallVector<int64_t> split(shape);
  split.push_back(2);
  Value half =
      b.sliceDim(b.reshape(x, split), last + 1, first ? 0 : 1, first ? 1 : 2);
  return b.reshape(half, shape);
}

static Values reduceByTree(TensorBuilder &b, ReduceRegionOp op) {
  Values lines;
  for (Value input : op.getInputs())
    lines.push_back(inLines(b, op, input));
  while (tensorTypeOf(lines[0]).getShape().back() > 1) {
    Values lhs, rhs;
    for (auto [line, init] : llvm::zip_equal(lines, op.getInits())) {
      lhs.push_back(everySecond(b, line, init, /*first=*/true));
      rhs.push_back(everySecond(b, line, init, /*first=*/false));
    }
    lines = combine(b, op, lhs, rhs);
  }
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getResultTypes()[0]).getShape();
  Values inits;
  for (Value init : op.getInits())
    inits.push_back(b.broadcast(init, shape, {}));
  if (tensorTypeOf(lines[0]).getShape().back() == 0)
    return inits;
  for (Value &line : lines)
    line = b.reshape(line, shape);
  return combine(b, op, lines, inits);
}

namespace {

struct ReduceRegion
    : DifferentiableOpInterface::ExternalModel<ReduceRegion, ReduceRegionOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ReduceRegionOp>(operation);
    Values cotangents;
    for (auto [i, type] : llvm::enumerate(op.getResultTypes()))
      if (vjp.cotangent(i))
        cotangents.push_back(vjp.cotangent(i));
    return pullBack(vjp, cotangents, [&](TensorBuilder &b) {
      Values results;
      for (auto [i, value] : llvm::enumerate(reduceByTree(b, op)))
        if (vjp.cotangent(i))
          results.push_back(value);
      return results;
    });
  }
};

} // namespace

void shoal::registerReductionRegionDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReduceRegionOp::attachInterface<ReduceRegion>(*context);
  });
}

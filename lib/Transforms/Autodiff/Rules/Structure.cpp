// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that place elements: gradients are placed back.

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct BroadcastInDim
    : DifferentiableOpInterface::ExternalModel<BroadcastInDim,
                                               BroadcastInDimOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<BroadcastInDimOp>(operation);
    TensorBuilder &b = vjp.b;
    ArrayRef<int64_t> from = tensorTypeOf(op.getInput()).getShape();
    ArrayRef<int64_t> to = tensorTypeOf(op.getResult()).getShape();
    // The operand's dimensions that were not repeated, in the result's order.
    SmallVector<int64_t> kept, summed;
    for (int64_t dim = 0; dim < static_cast<int64_t>(to.size()); ++dim) {
      const int64_t *place = llvm::find(op.getDims(), dim);
      if (place == op.getDims().end() ||
          from[place - op.getDims().begin()] != to[dim])
        summed.push_back(dim);
      else
        kept.push_back(place - op.getDims().begin());
    }
    Value g = vjp.cotangent();
    if (!summed.empty())
      g = b.reduce(ReduceKind::Sum, g, summed);
    if (!llvm::is_sorted(kept)) {
      auto order = llvm::to_vector(llvm::seq<int64_t>(kept.size()));
      llvm::sort(order,
                 [&](int64_t i, int64_t j) { return kept[i] < kept[j]; });
      g = b.transpose(g, order);
    }
    if (tensorTypeOf(g).getShape() != from)
      g = b.reshape(g, from);
    vjp.add(0, g);
    return success();
  }
};

struct Transpose
    : DifferentiableOpInterface::ExternalModel<Transpose, TransposeOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<TransposeOp>(operation);
    SmallVector<int64_t> inverse(op.getPermutation().size());
    for (auto [to, from] : llvm::enumerate(op.getPermutation()))
      inverse[from] = to;
    vjp.add(0, vjp.b.transpose(vjp.cotangent(), inverse));
    return success();
  }
};

struct Slice : DifferentiableOpInterface::ExternalModel<Slice, SliceOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<SliceOp>(operation);
    ArrayRef<int64_t> sizes = tensorTypeOf(op.getInput()).getShape();
    ArrayRef<int64_t> rows = tensorTypeOf(op.getResult()).getShape();
    SmallVector<int64_t> cut;
    for (int64_t d = 0; d < op.getInput().getType().getRank(); ++d)
      if (rows[d] != sizes[d])
        cut.push_back(d);
    if (cut.size() == 1 && op.getStrides()[cut[0]] == 1) {
      vjp.addRows(0, cut[0], op.getStarts()[cut[0]], vjp.cotangent());
      return success();
    }
    SmallVector<int64_t> low(op.getStarts()), high, interior;
    for (auto [d, size] : llvm::enumerate(sizes)) {
      int64_t stride = op.getStrides()[d];
      int64_t covered = rows[d] == 0 ? 0 : (rows[d] - 1) * stride + 1;
      high.push_back(size - low[d] - covered);
      interior.push_back(stride - 1);
    }
    vjp.add(0, vjp.b.pad(vjp.cotangent(), low, high, interior));
    return success();
  }
};

struct Pad : DifferentiableOpInterface::ExternalModel<Pad, PadOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<PadOp>(operation);
    if (vjp.wants(0))
      vjp.add(0, elementsOf(op, vjp.cotangent(), vjp.b));
    if (vjp.wants(1))
      vjp.add(1, paddingOf(op, vjp.cotangent(), vjp.b));
    return success();
  }

private:
  static Value elementsOf(PadOp op, Value g, TensorBuilder &b) {
    ArrayRef<int64_t> sizes = tensorTypeOf(op.getInput()).getShape();
    SmallVector<int64_t> low, high, limits, strides;
    for (auto [d, size] : llvm::enumerate(sizes)) {
      low.push_back(-op.getLow()[d]);
      high.push_back(-op.getHigh()[d]);
      strides.push_back(op.getInterior()[d] + 1);
      limits.push_back(size == 0 ? 0 : (size - 1) * strides[d] + 1);
    }
    SmallVector<int64_t> zeros(low.size(), 0);
    return b.slice(b.pad(g, low, high, zeros), zeros, limits, strides);
  }

  /// The sum of what stands where no element does. Not the difference of two
  /// sums, which cancels.
  static Value paddingOf(PadOp op, Value g, TensorBuilder &b) {
    auto flags = tensorTypeOf(op.getInput()).clone(b.getI1Type());
    auto flag = RankedTensorType::get({}, b.getI1Type());
    Value isPadding = PadOp::create(
        b, tensorTypeOf(g).clone(b.getI1Type()), b.splat(flags, int64_t(0)),
        b.splat(flag, int64_t(1)), op.getLow(), op.getHigh(), op.getInterior());
    auto dims = llvm::to_vector(llvm::seq(tensorTypeOf(g).getRank()));
    return b.reduce(ReduceKind::Sum, b.keepWhere(isPadding, g), dims);
  }
};

struct Reverse : DifferentiableOpInterface::ExternalModel<Reverse, ReverseOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    vjp.add(0, vjp.b.reverse(vjp.cotangent(),
                             cast<ReverseOp>(operation).getDims()));
    return success();
  }
};

struct Roll : DifferentiableOpInterface::ExternalModel<Roll, RollOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<RollOp>(operation);
    int64_t size = op.getType().getDimSize(op.getDim());
    int64_t back = op.getShift() == 0 ? 0 : size - op.getShift();
    vjp.add(0, RollOp::create(vjp.b, op.getType(), vjp.cotangent(), op.getDim(),
                              back));
    return success();
  }
};

struct Concatenate
    : DifferentiableOpInterface::ExternalModel<Concatenate, ConcatenateOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<ConcatenateOp>(operation);
    int64_t begin = 0, dim = op.getDim();
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      int64_t end = begin + tensorTypeOf(input).getDimSize(dim);
      if (vjp.wants(i))
        vjp.add(i, vjp.b.sliceDim(vjp.cotangent(), dim, begin, end));
      begin = end;
    }
    return success();
  }
};

} // namespace

void shoal::registerStructureDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    BroadcastInDimOp::attachInterface<BroadcastInDim>(*context);
    TransposeOp::attachInterface<Transpose>(*context);
    SliceOp::attachInterface<Slice>(*context);
    PadOp::attachInterface<Pad>(*context);
    ReverseOp::attachInterface<Reverse>(*context);
    RollOp::attachInterface<Roll>(*context);
    ConcatenateOp::attachInterface<Concatenate>(*context);
    noGradient<IotaOp>(context, [] { return "it depends on nothing"; });
  });
}

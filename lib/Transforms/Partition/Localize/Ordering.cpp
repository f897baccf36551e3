// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops along a dimension that is split: each device works on its rows, then all
// on what came of them.

#include "Models.h"
#include "Shapes.h"
#include "Slabs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"

using namespace mlir;
using namespace shoal;

/// Adds the results of the op on local types.
static LogicalResult cloneOp(Localizer &l, SmallVectorImpl<Value> &results) {
  llvm::append_range(results, l.cloneLocally()->getResults());
  return success();
}

/// Two tensors, element by element.
static Value combine(Localizer &l, ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(typeOf(x).getElementType());
  auto create = [&](auto floatOp, auto integerOp) -> Value {
    using FloatOp = decltype(floatOp);
    using IntegerOp = decltype(integerOp);
    if (isFloat)
      return FloatOp::create(l.builder, l.getLoc(), x, y);
    return IntegerOp::create(l.builder, l.getLoc(), x, y);
  };
  switch (kind) {
  case ReduceKind::Sum:
    return create(arith::AddFOp(), arith::AddIOp());
  case ReduceKind::Prod:
    return create(arith::MulFOp(), arith::MulIOp());
  case ReduceKind::Max:
    return create(arith::MaximumFOp(), arith::MaxSIOp());
  case ReduceKind::Min:
    return create(arith::MinimumFOp(), arith::MinSIOp());
  case ReduceKind::And:
    return arith::AndIOp::create(l.builder, l.getLoc(), x, y);
  case ReduceKind::Or:
    return arith::OrIOp::create(l.builder, l.getLoc(), x, y);
  }
  llvm_unreachable("all kinds are listed");
}

namespace {

/// A scan of the device's rows, combined with the totals of all devices before
/// it; these come by a scan of the totals, which is exclusive.
struct Cumulative
    : LocalizeOpInterface::ExternalModel<Cumulative, CumulativeOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<CumulativeOp>(operation);
    int64_t dim = op.getDim();
    ArrayRef<AxisId> axes = l.operandShardings[0].dims[dim];
    if (axes.empty())
      return cloneOp(l, results);
    Value rows = l.maskPadding(
        l.operands[0], typeOf(op.getInput()).getShape(), l.operandShardings[0],
        dim,
        reductionIdentity(op.getKind(),
                          typeOf(op.getInput()).getElementType()));
    Values before = Slabs(l, total(op, rows, l), dim, axes)
                        .scan([&](ValueRange totals) -> Values {
                          return {scan(op, totals[0], true, l)};
                        });
    Value carry = BroadcastInDimOp::create(
        l.builder, l.getLoc(), rows.getType(), before[0],
        llvm::to_vector(llvm::seq<int64_t>(typeOf(rows).getRank())));
    results.push_back(
        combine(l, op.getKind(), carry, scan(op, rows, op.getExclusive(), l)));
    return success();
  }

private:
  static Value scan(CumulativeOp op, Value rows, bool exclusive, Localizer &l) {
    return CumulativeOp::create(l.builder, l.getLoc(), rows.getType(),
                                op.getKind(), rows, op.getDim(), exclusive,
                                op.getReverse());
  }

  /// One row.
  static Value total(CumulativeOp op, Value rows, Localizer &l) {
    RankedTensorType row = withSize(typeOf(rows), op.getDim(), 1);
    SmallVector<int64_t> kept(row.getShape());
    kept.erase(kept.begin() + op.getDim());
    Value total = ReduceOp::create(l.builder, l.getLoc(), row.clone(kept),
                                   op.getKind(), rows, op.getDim());
    return ReshapeOp::create(l.builder, l.getLoc(), row, total);
  }
};

/// Each device's k largest are the candidates. They come in the order of their
/// places, and a stable sort keeps equal ones so. Padding has the lowest value
/// and the last places, and thus comes behind all that exists.
struct TopK : LocalizeOpInterface::ExternalModel<TopK, TopKOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<TopKOp>(operation);
    RankedTensorType global = typeOf(op.getInput());
    int64_t last = global.getRank() - 1;
    ArrayRef<AxisId> axes = l.operandShardings[0].dims[last];
    if (axes.empty())
      return cloneOp(l, results);
    Value rows = l.maskPadding(
        l.operands[0], global.getShape(), l.operandShardings[0], last,
        reductionIdentity(ReduceKind::Max, global.getElementType()));
    int64_t k = op.getK();
    llvm::append_range(results,
                       Slabs(l, selectOwn(rows, k, axes, l), last, axes)
                           .combine([&](ValueRange candidates) {
                             return selectAmong(candidates, k, l);
                           }));
    return success();
  }

private:
  /// Values and their places in the whole dimension.
  static Values selectOwn(Value rows, int64_t k, ArrayRef<AxisId> axes,
                          Localizer &l) {
    RankedTensorType type = typeOf(rows);
    int64_t last = type.getRank() - 1, size = type.getDimSize(last);
    RankedTensorType values = withSize(type, last, std::min(k, size));
    RankedTensorType places = values.clone(l.builder.getI32Type());
    auto own = TopKOp::create(l.builder, l.getLoc(), values, places, rows,
                              values.getDimSize(last));
    Value first = l.spread(l.firstRow(axes, size), places);
    return {own.getValues(), arith::AddIOp::create(l.builder, l.getLoc(),
                                                   own.getIndices(), first)};
  }

  static Values selectAmong(ValueRange candidates, int64_t k, Localizer &l) {
    int64_t last = typeOf(candidates[0]).getRank() - 1;
    auto sorted =
        SortOp::create(l.builder, l.getLoc(), candidates.getTypes(), candidates,
                       last, /*num_keys=*/1, /*descending=*/true);
    return Values(llvm::map_range(sorted.getResults(), [&](Value value) {
      RankedTensorType type = withSize(typeOf(value), last, k);
      SmallVector<int64_t> starts(type.getRank(), 0);
      SmallVector<int64_t> strides(type.getRank(), 1);
      return SliceOp::create(l.builder, l.getLoc(), type, value, starts,
                             type.getShape(), strides)
          .getResult();
    }));
  }
};

/// Each device reduces its rows, then all reduce the partial results.
struct ReduceRegion
    : LocalizeOpInterface::ExternalModel<ReduceRegion, ReduceRegionOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<ReduceRegionOp>(operation);
    size_t count = op.getInputs().size();
    ArrayRef<int64_t> shape = typeOf(op.getInputs()[0]).getShape();
    ValueRange inits = l.operands.drop_front(count);
    Values rows;
    for (size_t i = 0; i < count; ++i)
      rows.push_back(l.maskPadding(l.operands[i], shape, l.operandShardings[i],
                                   op.getDims(), inits[i]));
    Values partial = reduce(op, rows, inits, op.getDims(), l);
    AxisList axes;
    for (int64_t dim : op.getDims())
      llvm::append_range(axes, l.operandShardings[0].dims[dim]);
    if (!axes.empty())
      partial = reduceAll(op, partial, inits, axes, l);
    llvm::append_range(results, partial);
    return success();
  }

private:
  static Values reduce(ReduceRegionOp op, ValueRange rows, ValueRange inits,
                       ArrayRef<int64_t> dims, Localizer &l) {
    SmallVector<Type> types;
    for (Value value : rows) {
      SmallVector<int64_t> kept;
      for (auto [dim, size] : llvm::enumerate(typeOf(value).getShape()))
        if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
          kept.push_back(size);
      types.push_back(typeOf(value).clone(kept));
    }
    auto reduced =
        ReduceRegionOp::create(l.builder, l.getLoc(), types, rows, inits, dims);
    IRMapping mapping;
    op.getCombiner().cloneInto(&reduced.getCombiner(), mapping);
    return Values(reduced.getResults());
  }

  static Values
  reshapeAll(ValueRange values, Localizer &l,
             function_ref<void(SmallVectorImpl<int64_t> &)> edit) {
    return Values(llvm::map_range(values, [&](Value value) {
      SmallVector<int64_t> shape(typeOf(value).getShape());
      edit(shape);
      return ReshapeOp::create(l.builder, l.getLoc(),
                               typeOf(value).clone(shape), value)
          .getResult();
    }));
  }

  /// Of the devices' results as rows of a new dimension 0.
  static Values reduceAll(ReduceRegionOp op, ValueRange partial,
                          ValueRange inits, ArrayRef<AxisId> axes,
                          Localizer &l) {
    auto addRow = [](SmallVectorImpl<int64_t> &shape) {
      shape.insert(shape.begin(), 1);
    };
    auto dropRow = [](SmallVectorImpl<int64_t> &shape) {
      shape.erase(shape.begin());
    };
    Values rows = reshapeAll(partial, l, addRow);
    Values reduced = Slabs(l, rows, 0, axes).combine([&](ValueRange all) {
      return reshapeAll(reduce(op, all, inits, 0, l), l, addRow);
    });
    return reshapeAll(reduced, l, dropRow);
  }
};

} // namespace

void shoal::registerOrderingLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    CumulativeOp::attachInterface<Cumulative>(*context);
    TopKOp::attachInterface<TopK>(*context);
    ReduceRegionOp::attachInterface<ReduceRegion>(*context);
  });
}

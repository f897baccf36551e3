// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Each device works on its rows, then all on what came of them.

#include "Models.h"
#include "Shapes.h"
#include "Slabs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Transforms/Partition/Localizer.h"

using namespace mlir;
using namespace shoal;

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
    if (axes.empty()) {
      llvm::append_range(results, l.cloneLocally()->getResults());
      return success();
    }
    Value rows = l.maskPadding(
        l.operands[0], typeOf(op.getInput()).getShape(), l.operandShardings[0],
        dim, getIdentity(op.getKind(), typeOf(op.getInput()).getElementType()));
    Values before = Slabs(l, total(op, rows, l), dim, axes)
                        .scan([&](ValueRange totals) -> Values {
                          return {scan(op, totals[0], true, l)};
                        });
    Value carry = BroadcastInDimOp::create(
        l.builder, l.getLoc(), rows.getType(), before[0],
        llvm::to_vector(llvm::seq<int64_t>(typeOf(rows).getRank())));
    results.push_back(createCombiner(l.builder, l.getLoc(), op.getKind(), carry,
                                     scan(op, rows, op.getExclusive(), l)));
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

void shoal::registerReductionLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    CumulativeOp::attachInterface<Cumulative>(*context);
    ReduceRegionOp::attachInterface<ReduceRegion>(*context);
  });
}

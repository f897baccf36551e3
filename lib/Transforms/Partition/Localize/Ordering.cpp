// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "Shapes.h"
#include "Slabs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;

namespace {

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
    if (axes.empty()) {
      llvm::append_range(results, l.cloneLocally()->getResults());
      return success();
    }
    Value rows = l.maskPadding(
        l.operands[0], global.getShape(), l.operandShardings[0], last,
        getIdentity(ReduceKind::Max, global.getElementType()));
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

} // namespace

void shoal::registerOrderingLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    TopKOp::attachInterface<TopK>(*context);
  });
}

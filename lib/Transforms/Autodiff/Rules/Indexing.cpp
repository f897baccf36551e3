// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Slices at places of the program, and gather: what they read gets its
// cotangents back where it stands.

#include "../IndexedReads.h"
#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct DynamicSlice
    : DifferentiableOpInterface::ExternalModel<DynamicSlice, DynamicSliceOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<DynamicSliceOp>(operation);
    vjp.addAt(0, op.getStarts(), vjp.cotangent());
    return success();
  }
};

struct DynamicUpdateSlice
    : DifferentiableOpInterface::ExternalModel<DynamicUpdateSlice,
                                               DynamicUpdateSliceOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<DynamicUpdateSliceOp>(operation);
    RankedTensorType type = tensorTypeOf(op.getUpdate());
    Value g = vjp.cotangent();
    if (vjp.wants(0))
      vjp.add(0, DynamicUpdateSliceOp::create(
                     vjp.b, g.getType(), g, vjp.b.zeros(type), op.getStarts()));
    if (vjp.wants(1))
      vjp.add(1, DynamicSliceOp::create(vjp.b, type, g, op.getStarts(),
                                        type.getShape()));
    return success();
  }
};

struct Gather : DifferentiableOpInterface::ExternalModel<Gather, GatherOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<GatherOp>(operation);
    // Gather moves windows inside, scatter drops what is outside.
    IndexedWindows windows = IndexedWindows::of(op);
    SmallVector<int64_t> low, high;
    for (int64_t dim : op.getStartIndexMap()) {
      low.push_back(0);
      high.push_back(windows.operandShape[dim] - windows.windowSizes[dim]);
    }
    Value indices =
        clampIndices(vjp.b, op.getIndices(), op.getIndexVectorDim(), low, high);
    RankedTensorType type = tensorTypeOf(op.getInput());
    Type element = vjp.b.sumElement(type.getElementType());
    Type sums = type.clone(element);
    Value sum = ScatterOp::create(
        vjp.b, sums, ReduceKindAttr::get(op.getContext(), ReduceKind::Sum),
        vjp.b.zeros(sums), indices, vjp.b.convert(vjp.cotangent(), element),
        op.getOffsetDims(), op.getCollapsedSliceDims(),
        op.getOperandBatchingDims(), op.getStartIndicesBatchingDims(),
        op.getStartIndexMap(), op.getIndexVectorDim());
    vjp.add(0, vjp.b.convert(sum, type.getElementType()));
    return success();
  }
};

} // namespace

void shoal::registerIndexingDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    DynamicSliceOp::attachInterface<DynamicSlice>(*context);
    DynamicUpdateSliceOp::attachInterface<DynamicUpdateSlice>(*context);
    GatherOp::attachInterface<Gather>(*context);
  });
}

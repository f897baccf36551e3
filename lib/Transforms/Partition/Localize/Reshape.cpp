// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// reshape on split dimensions: a group of dimensions is a line of elements, of
// which each device holds a block before and another one after.

#include "Models.h"
#include "Shapes.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Sharding/ReshapeGroups.h"
#include "shoal/Transforms/Partition/Localizer.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

static Value reshapeTo(Value value, ArrayRef<int64_t> shape, Localizer &l) {
  auto type = cast<RankedTensorType>(value.getType());
  return l.builder.createOrFold<ReshapeOp>(l.getLoc(), type.clone(shape),
                                           value);
}

namespace {

struct Reshape : LocalizeOpInterface::ExternalModel<Reshape, ReshapeOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<ReshapeOp>(operation);
    RankedTensorType type = l.localResultType();
    Value value = l.operands[0];
    if (llvm::is_contained(shapeOf(op.getInput()), 0)) {
      results.push_back(l.cloneLocally()->getResult(0));
      return success();
    }
    auto groups = groupDims(shapeOf(op.getInput()), shapeOf(op.getResult()));
    SmallVector<int64_t> lines;
    for (const ReshapeGroup &group : groups)
      lines.push_back(product(shapeOf(value).slice(
          group.fromBegin, group.fromEnd - group.fromBegin)));
    value = reshapeTo(value, lines, l);
    for (auto [line, group] : llvm::enumerate(groups)) {
      int64_t wanted = product(
          type.getShape().slice(group.toBegin, group.toEnd - group.toBegin));
      value = moveBlocks(value, line, axesOf(group, l), wanted, l);
    }
    results.push_back(reshapeTo(value, type.getShape(), l));
    return success();
  }

private:
  static AxisList axesOf(const ReshapeGroup &group, Localizer &l) {
    AxisList axes;
    for (unsigned d = group.fromBegin; d < group.fromEnd; ++d)
      llvm::append_range(axes, l.operandShardings[0].dims[d]);
    return axes;
  }

  /// Blocks of `wanted` elements from blocks of as many as the line has. What
  /// pads the last blocks counts as part of the line: no one asks for it.
  static Value moveBlocks(Value value, int64_t line, ArrayRef<AxisId> axes,
                          int64_t wanted, Localizer &l) {
    int64_t block = shapeOf(value)[line];
    if (axes.empty() || block == wanted)
      return value;
    return l.fetchRows(value, line, block * l.mesh.sizeOf(axes), axes,
                       RowWindow{wanted, 0, 1, wanted});
  }
};

} // namespace

void shoal::registerReshapeLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReshapeOp::attachInterface<Reshape>(*context);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplitViews.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace shoal;

Value shoal::slice(OpBuilder &builder, Location loc, Value buffer,
                   AffineMap map, unsigned loop, int64_t begin, int64_t count) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    bool isCut = expr == builder.getAffineDimExpr(loop);
    if (isCut)
      offsets[dim] = builder.getIndexAttr(begin);
    sizes.push_back(builder.getIndexAttr(isCut ? count : type.getDimSize(dim)));
  }
  if (!map.isFunctionOfDim(loop))
    return buffer;
  return memref::SubViewOp::create(builder, loc, buffer, offsets, sizes,
                                   strides);
}

Value shoal::cutIntoParts(OpBuilder &builder, Location loc, Value buffer,
                          AffineMap map, const Split &split) {
  if (!map.isFunctionOfDim(split.loop))
    return buffer;
  if (split.rest() != 0)
    buffer = slice(builder, loc, buffer, map, split.loop, 0, split.covered());
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    bool isCut = expr == builder.getAffineDimExpr(split.loop);
    groups.emplace_back();
    for (int64_t size : isCut ? SmallVector<int64_t>{split.parts, split.chunk}
                              : SmallVector<int64_t>{type.getDimSize(dim)}) {
      groups.back().push_back(shape.size());
      shape.push_back(size);
    }
  }
  return memref::ExpandShapeOp::create(builder, loc, shape, buffer, groups);
}

AffineMap shoal::cutIntoParts(AffineMap map, const Split &split) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> moved, results;
  for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
    moved.push_back(getAffineDimExpr(loop + (loop >= split.loop), context));
  for (AffineExpr expr : map.getResults()) {
    if (expr == getAffineDimExpr(split.loop, context))
      results.push_back(expr);
    results.push_back(expr.replaceDims(moved));
  }
  return AffineMap::get(map.getNumDims() + 1, 0, results, context);
}

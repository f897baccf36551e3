// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

Places Places::ofWindows(const WindowDim &window, int64_t windows) {
  int64_t last =
      (windows - 1) * window.stride + (window.size - 1) * window.windowDilation;
  return {window.low, window.baseDilation, last + 1};
}

static SmallVector<OpFoldResult> toAttrs(OpBuilder &builder,
                                         ArrayRef<int64_t> values) {
  return llvm::map_to_vector(values, [&](int64_t value) -> OpFoldResult {
    return builder.getIndexAttr(value);
  });
}

Value shoal::spreadRows(OpBuilder &builder, Location loc, Value value,
                        ArrayRef<Places> places, TypedAttr fill) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> first, kept, at, distance, shape;
  for (auto [size, dim] : llvm::zip_equal(type.getShape(), places)) {
    // Rows whose place is one of 0 ... count - 1.
    int64_t begin = std::clamp<int64_t>(
        llvm::divideCeilSigned(-dim.low, dim.distance), 0, size);
    int64_t end = std::clamp<int64_t>(
        llvm::divideFloorSigned(dim.count - 1 - dim.low, dim.distance) + 1,
        begin, size);
    first.push_back(begin);
    kept.push_back(end - begin);
    at.push_back(dim.low + begin * dim.distance);
    // Of a single row no distance is known.
    distance.push_back(end - begin > 1 ? dim.distance : 1);
    shape.push_back(dim.count);
  }
  if (shape == type.getShape() && kept == shape)
    return value;
  Value target = makeFilled(builder, loc, shape, fill);
  if (llvm::is_contained(kept, 0))
    return target;
  SmallVector<int64_t> ones(shape.size(), 1);
  if (kept != type.getShape())
    value = tensor::ExtractSliceOp::create(
        builder, loc, value, toAttrs(builder, first), toAttrs(builder, kept),
        toAttrs(builder, ones));
  return tensor::InsertSliceOp::create(
      builder, loc, value, target, toAttrs(builder, at), toAttrs(builder, kept),
      toAttrs(builder, distance));
}

AffineExpr shoal::placeOf(const WindowDim &dim, AffineExpr window,
                          AffineExpr place) {
  return window * dim.stride + place * dim.windowDilation;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

WindowLoops::WindowLoops(ArrayRef<WindowDim> window, MLIRContext *context)
    : window(window), context(context) {}

AffineExpr WindowLoops::outer(unsigned d) const {
  return getAffineDimExpr(d, context);
}

AffineExpr WindowLoops::inner(unsigned d) const {
  return getAffineDimExpr(window.size() + d, context);
}

AffineMap WindowLoops::map(ArrayRef<AffineExpr> exprs) const {
  return AffineMap::get(2 * window.size(), 0, exprs, context);
}

AffineMap WindowLoops::readMap() const {
  SmallVector<AffineExpr> exprs;
  for (auto [d, dim] : llvm::enumerate(window))
    exprs.push_back(placeOf(dim, outer(d), inner(d)));
  return map(exprs);
}

AffineMap WindowLoops::outerMap() const {
  SmallVector<AffineExpr> exprs;
  for (unsigned d = 0; d < window.size(); ++d)
    exprs.push_back(outer(d));
  return map(exprs);
}

SmallVector<Value> WindowLoops::reduce(
    OpBuilder &builder, Location loc, ValueRange inputs,
    ArrayRef<AffineMap> inputMaps, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange, ValueRange)>
        body) const {
  SmallVector<Value> operands(inputs);
  SmallVector<AffineMap> maps(inputMaps);
  SmallVector<AffineExpr> places;
  SmallVector<int64_t> shape;
  for (auto [d, dim] : llvm::enumerate(window)) {
    places.push_back(inner(d));
    shape.push_back(dim.size);
  }
  operands.push_back(makeEmpty(builder, loc, shape, builder.getI8Type()));
  maps.push_back(map(places));
  maps.append(inits.size(), outerMap());
  SmallVector<utils::IteratorType> iterators(window.size(),
                                             utils::IteratorType::parallel);
  iterators.append(window.size(), utils::IteratorType::reduction);
  auto op = linalg::GenericOp::create(
      builder, loc, inits.getTypes(), operands, inits, maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
        linalg::YieldOp::create(nested, nestedLoc,
                                body(nested, args.take_front(inputs.size()),
                                     args.take_back(inits.size())));
      });
  return SmallVector<Value>(op.getResults());
}

Value WindowLoops::placeNumber(OpBuilder &builder, Location loc) const {
  Value number = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [d, dim] : llvm::enumerate(window)) {
    Value size = arith::ConstantIndexOp::create(builder, loc, dim.size);
    Value place = linalg::IndexOp::create(builder, loc, window.size() + d);
    number = arith::MulIOp::create(builder, loc, number, size);
    number = arith::AddIOp::create(builder, loc, number, place);
  }
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
}

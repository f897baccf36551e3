// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopBox.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Reach
//===----------------------------------------------------------------------===//

/// Of a remainder: the same rest on both sides only where no multiple of the
/// divisor lies between them.
static Reach remainder(Reach of, int64_t divisor) {
  if (llvm::divideFloorSigned(of.low, divisor) ==
      llvm::divideFloorSigned(of.high, divisor))
    return {llvm::mod(of.low, divisor), llvm::mod(of.high, divisor)};
  return {0, divisor - 1};
}

static Reach reachOf(AffineBinaryOpExpr expr, ArrayRef<int64_t> sizes) {
  Reach a = reachOf(expr.getLHS(), sizes), b = reachOf(expr.getRHS(), sizes);
  if (expr.getKind() == AffineExprKind::Add)
    return {a.low + b.low, a.high + b.high};
  // One side is a constant; a divisor is positive.
  if (a.low == a.high && b.low != b.high)
    std::swap(a, b);
  int64_t factor = b.low;
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return {std::min(a.low * factor, a.high * factor),
            std::max(a.low * factor, a.high * factor)};
  case AffineExprKind::FloorDiv:
    return {llvm::divideFloorSigned(a.low, factor),
            llvm::divideFloorSigned(a.high, factor)};
  case AffineExprKind::CeilDiv:
    return {llvm::divideCeilSigned(a.low, factor),
            llvm::divideCeilSigned(a.high, factor)};
  case AffineExprKind::Mod:
    return remainder(a, factor);
  default:
    llvm_unreachable("no operation of two subscripts");
  }
}

Reach shoal::reachOf(AffineExpr subscript, ArrayRef<int64_t> sizes) {
  if (auto dim = dyn_cast<AffineDimExpr>(subscript))
    return {0, sizes[dim.getPosition()] - 1};
  if (auto number = dyn_cast<AffineConstantExpr>(subscript))
    return {number.getValue(), number.getValue()};
  return ::reachOf(cast<AffineBinaryOpExpr>(subscript), sizes);
}

std::optional<int64_t> shoal::stepOf(AffineExpr subscript, unsigned loop) {
  if (!subscript.isFunctionOfDim(loop))
    return 0;
  if (isa<AffineDimExpr>(subscript))
    return 1;
  auto expr = cast<AffineBinaryOpExpr>(subscript);
  auto a = stepOf(expr.getLHS(), loop), b = stepOf(expr.getRHS(), loop);
  if (!a || !b)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *a + *b;
  auto factor = dyn_cast<AffineConstantExpr>(expr.getRHS());
  if (expr.getKind() != AffineExprKind::Mul || !factor)
    return std::nullopt;
  return *a * factor.getValue();
}

LoopCut shoal::cutOf(ArrayRef<AffineMap> maps, unsigned loop) {
  auto found = LoopCut::Any;
  for (AffineMap map : maps)
    for (AffineExpr subscript : map.getResults()) {
      std::optional<int64_t> step = stepOf(subscript, loop);
      if (!step)
        return LoopCut::None;
      if (*step < 0)
        found = LoopCut::Equal;
    }
  return found;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

LoopBox LoopBox::all(linalg::LinalgOp op) {
  Builder builder(op);
  LoopBox box;
  for (int64_t range : op.getStaticLoopRanges()) {
    box.begins.push_back(builder.getIndexAttr(0));
    box.sizes.push_back(builder.getIndexAttr(range));
  }
  return box;
}

void LoopBox::cut(OpBuilder &builder, Location loc, unsigned loop,
                  OpFoldResult begin, int64_t size, int64_t range) {
  begins[loop] = begin;
  sizes[loop] = builder.getIndexAttr(size);
  if (range % size == 0 || isa<Attribute>(begin))
    return;
  AffineExpr left = range - builder.getAffineDimExpr(0);
  auto map = AffineMap::get(1, 0, {builder.getAffineConstantExpr(size), left},
                            builder.getContext());
  sizes[loop] = affine::makeComposedFoldedAffineMin(builder, loc, map, {begin});
}

namespace {

/// A part of one dimension of an operand, and how it is subscripted.
struct Slice {
  OpFoldResult begin, size;
  AffineExpr subscript;
};

class Slicer {
public:
  Slicer(OpBuilder &builder, Location loc, const LoopBox &box,
         ArrayRef<int64_t> ranges)
      : builder(builder), loc(loc), box(box) {
    for (auto [loop, range] : llvm::enumerate(ranges)) {
      auto size = getConstantIntValue(box.sizes[loop]);
      // Those of unknown size count for themselves, see slice.
      sizes.push_back(size.value_or(1));
      if (size != range || !isConstantIntValue(box.begins[loop], 0))
        cutLoops.push_back(loop);
    }
  }

  bool isCut(AffineExpr subscript) const {
    return llvm::any_of(cutLoops, [&](unsigned loop) {
      return subscript.isFunctionOfDim(loop);
    });
  }

  /// Of a dimension of `range` rows.
  Slice slice(AffineExpr subscript, int64_t range) {
    if (!isCut(subscript))
      return {builder.getIndexAttr(0), builder.getIndexAttr(range), subscript};
    Reach reach = reachOf(subscript, sizes);
    AffineExpr begin = builder.getAffineConstantExpr(reach.low);
    AffineExpr size = builder.getAffineConstantExpr(reach.extent());
    SmallVector<OpFoldResult> begins, unknown;
    for (unsigned loop : cutLoops) {
      int64_t step = *stepOf(subscript, loop);
      begin = begin + builder.getAffineDimExpr(begins.size()) * step;
      begins.push_back(box.begins[loop]);
      if (getConstantIntValue(box.sizes[loop]))
        continue;
      assert(step >= 0 && "parts of unequal sizes, of rows that run backwards");
      size = size + (builder.getAffineDimExpr(unknown.size()) - 1) * step;
      unknown.push_back(box.sizes[loop]);
    }
    return {fold(begin, begins), fold(size, unknown), subscript - reach.low};
  }

private:
  OpFoldResult fold(AffineExpr expr, ArrayRef<OpFoldResult> values) {
    return affine::makeComposedFoldedAffineApply(
        builder, loc, AffineMap::get(values.size(), 0, expr), values);
  }

  OpBuilder &builder;
  Location loc;
  const LoopBox &box;
  SmallVector<int64_t> sizes;
  SmallVector<unsigned> cutLoops;
};

} // namespace

/// The part of an operand that a map reaches, and the map of it.
static std::pair<Value, AffineMap> sliceOperand(OpBuilder &builder,
                                                Location loc, Slicer &slicer,
                                                Value operand, AffineMap map) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  auto isCut = [&](AffineExpr expr) { return slicer.isCut(expr); };
  if (!type || llvm::none_of(map.getResults(), isCut))
    return {operand, map};
  SmallVector<OpFoldResult> begins, sizes;
  SmallVector<AffineExpr> subscripts;
  for (auto [expr, range] :
       llvm::zip_equal(map.getResults(), type.getShape())) {
    Slice slice = slicer.slice(expr, range);
    begins.push_back(slice.begin);
    sizes.push_back(slice.size);
    subscripts.push_back(slice.subscript);
  }
  SmallVector<OpFoldResult> ones(sizes.size(), builder.getIndexAttr(1));
  Value part =
      memref::SubViewOp::create(builder, loc, operand, begins, sizes, ones);
  return {part, AffineMap::get(map.getNumDims(), 0, subscripts,
                               builder.getContext())};
}

linalg::LinalgOp shoal::emitBox(OpBuilder &builder, linalg::LinalgOp op,
                                const LoopBox &box) {
  Location loc = op.getLoc();
  Slicer slicer(builder, loc, box, op.getStaticLoopRanges());
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    auto [part, map] = sliceOperand(builder, loc, slicer, operand.get(),
                                    op.getMatchingIndexingMap(&operand));
    operands.push_back(part);
    maps.push_back(map);
  }
  auto part = cast<linalg::LinalgOp>(clone(builder, op, TypeRange(), operands));
  if (auto generic = dyn_cast<linalg::GenericOp>(part.getOperation()))
    generic.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  else
    assert(maps == op.getIndexingMapsArray() && "a named op's maps are fixed");
  auto offsets = llvm::map_to_vector(box.begins, [](OpFoldResult begin) {
    return isConstantIntValue(begin, 0) ? OpFoldResult() : begin;
  });
  linalg::offsetIndices(builder, part, offsets);
  return part;
}

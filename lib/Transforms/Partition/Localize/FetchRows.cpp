// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Localizer::fetchRows: windows of rows, from the device itself or from others.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Partition/Localizer.h"

using namespace mlir;
using namespace shoal;

namespace {

class RowFetcher {
public:
  RowFetcher(Localizer &l, Value value, int64_t dim, int64_t size,
             ArrayRef<AxisId> axes, const RowWindow &window, Value fill)
      : l(l), value(value), type(cast<RankedTensorType>(value.getType())),
        dim(dim), size(size), axes(axes), window(window), fill(fill),
        shards(l.mesh.sizeOf(axes)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = window.rows;
    resultType = type.clone(shape);
  }

  Value fetch() {
    if (window.rows == 0)
      return spread(fillOrZero());
    Value rows = isLocal() ? cutOut() : exchange();
    // On one device all that does not exist was padding just now.
    bool mask = fill && shards > 1 && seesOutside(window, size, shards);
    return mask ? maskOutside(rows) : rows;
  }

private:
  Value fillOrZero() {
    if (!fill)
      fill = l.splat(RankedTensorType::get({}, type.getElementType()),
                     l.builder.getZeroAttr(type.getElementType()));
    return fill;
  }

  Value spread(Value scalar) {
    if (DenseElementsAttr element; matchPattern(scalar, m_Constant(&element)))
      return l.splat(resultType, element.getSplatValue<Attribute>());
    return l.spread(scalar, resultType);
  }

  /// Whether each device has its rows, all at the same place.
  bool isLocal() const {
    int64_t block = shardSize(size, shards);
    return (shards == 1 || window.step == block * window.divisor) &&
           lackingRows(window, size, shards) == 0;
  }

  Value cutOut() {
    int64_t block = type.getDimSize(dim), shift = window.begin(0);
    int64_t begin = std::clamp<int64_t>(shift, 0, block);
    int64_t end = std::clamp<int64_t>(shift + window.rows, begin, block);
    Value rows = slice(begin, end);
    int64_t low = std::clamp<int64_t>(-shift, 0, window.rows);
    return pad(rows, low, window.rows - (end - begin) - low);
  }

  Value slice(int64_t begin, int64_t end) {
    if (begin == 0 && end == type.getDimSize(dim))
      return value;
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
        strides(type.getRank(), 1), shape(type.getShape());
    starts[dim] = begin;
    limits[dim] = end;
    shape[dim] = end - begin;
    return SliceOp::create(l.builder, l.getLoc(), type.clone(shape), value,
                           starts, limits, strides);
  }

  Value pad(Value rows, int64_t low, int64_t high) {
    if (low == 0 && high == 0)
      return rows;
    SmallVector<int64_t> none(type.getRank(), 0), before = none, behind = none;
    before[dim] = low;
    behind[dim] = high;
    return PadOp::create(l.builder, l.getLoc(), resultType, rows, fillOrZero(),
                         before, behind, none);
  }

  Value exchange() {
    Builder &b = l.builder;
    auto why = l.reason("rows of " + l.op->getName().getStringRef());
    return spmd::HaloExchangeOp::create(
        l.builder, l.getLoc(), resultType, l.meshSymbol,
        toAxesAttr(axes, l.mesh, b.getContext()), value,
        b.getI64IntegerAttr(dim), b.getI64IntegerAttr(size),
        b.getI64IntegerAttr(window.step), b.getI64IntegerAttr(window.offset),
        b.getI64IntegerAttr(window.divisor), why);
  }

  /// Windows to add so that the number which is divided is never negative.
  int64_t bias() const {
    return std::max<int64_t>(
        0, -std::min(window.begin(0), window.begin(shards - 1)));
  }

  /// i32 where all row numbers fit.
  IntegerType rowType() const {
    int64_t reach = size + window.rows + (bias() + 1) * window.divisor;
    for (int64_t device : {int64_t(0), shards - 1})
      reach += std::abs(window.step * device + window.offset);
    return l.builder.getIntegerType(
        reach <= std::numeric_limits<int32_t>::max() ? 32 : 64);
  }

  Value constant(RankedTensorType t, int64_t number) {
    return l.splat(t, IntegerAttr::get(t.getElementType(), number));
  }

  /// The first row of this device's window. Unsigned division rounds down, as
  /// it must, because the bias makes the number positive.
  Value firstRow(IntegerType element) {
    Location loc = l.getLoc();
    auto scalar = RankedTensorType::get({}, element);
    Value row = l.axisIndex(axes);
    if (element.getWidth() > 32)
      row = arith::ExtSIOp::create(l.builder, loc, scalar, row);
    row = arith::MulIOp::create(l.builder, loc, row,
                                constant(scalar, window.step));
    int64_t shift = window.divisor == 1 ? 0 : bias();
    row = arith::AddIOp::create(
        l.builder, loc, row,
        constant(scalar, window.offset + shift * window.divisor));
    if (window.divisor != 1)
      row = arith::DivUIOp::create(l.builder, loc, row,
                                   constant(scalar, window.divisor));
    if (shift != 0)
      row = arith::SubIOp::create(l.builder, loc, row, constant(scalar, shift));
    return row;
  }

  Value maskOutside(Value rows) {
    Location loc = l.getLoc();
    IntegerType element = rowType();
    RankedTensorType rowsType = resultType.clone(element);
    Value row = IotaOp::create(l.builder, loc, rowsType, dim);
    row = arith::AddIOp::create(l.builder, loc, row,
                                l.spread(firstRow(element), rowsType));
    // Unsigned: a row before the first is past the last too.
    Value exists =
        arith::CmpIOp::create(l.builder, loc, arith::CmpIPredicate::ult, row,
                              constant(rowsType, size));
    return arith::SelectOp::create(l.builder, loc, exists, rows, spread(fill));
  }

  Localizer &l;
  Value value;
  RankedTensorType type, resultType;
  int64_t dim, size;
  ArrayRef<AxisId> axes;
  RowWindow window;
  /// Null where rows that do not exist may be anything.
  Value fill;
  int64_t shards;
};

} // namespace

Value Localizer::fetchRows(Value value, int64_t dim, int64_t size,
                           ArrayRef<AxisId> axes, const RowWindow &window,
                           Value fill) {
  return RowFetcher(*this, value, dim, size, axes, window, fill).fetch();
}

Value Localizer::fetchRows(Value value, int64_t dim, int64_t size,
                           ArrayRef<AxisId> axes, const RowWindow &window,
                           std::optional<TypedAttr> fill) {
  Value scalar;
  if (fill)
    scalar = splat(RankedTensorType::get({}, fill->getType()), *fill);
  return fetchRows(value, dim, size, axes, window, scalar);
}

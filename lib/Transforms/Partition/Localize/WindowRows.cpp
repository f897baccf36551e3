// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowRows.h"
#include "Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Sharding/DilatedRows.h"

using namespace mlir;
using namespace shoal;

/// tensor<i64>: base + phase.
static Value rowOfPhase(Localizer &l, int64_t base, const Phase &phase,
                        ArrayRef<AxisId> axes) {
  OpBuilder &b = l.builder;
  Location loc = l.getLoc();
  auto type = RankedTensorType::get({}, b.getI64Type());
  auto constant = [&](int64_t value) {
    return l.splat(type, b.getI64IntegerAttr(value));
  };
  // Both numbers brought below the modulus first: nothing overflows, and
  // nothing is negative.
  Value index = arith::ExtSIOp::create(b, loc, type, l.axisIndex(axes));
  Value at = arith::MulIOp::create(
      b, loc, index, constant(llvm::mod(phase.step, phase.modulus)));
  at = arith::AddIOp::create(b, loc, at, constant(phase.constant()));
  at = arith::RemUIOp::create(b, loc, at, constant(phase.modulus));
  return base == 0 ? at : arith::AddIOp::create(b, loc, at, constant(base));
}

Value shoal::cutAtPhase(Localizer &l, Value value, int64_t dim, int64_t base,
                        const Phase &phase, ArrayRef<AxisId> axes,
                        int64_t count) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  if (!phase.isConstant()) {
    Value first = rowOfPhase(l, base, phase, axes);
    Value zero = l.splat(typeOf(first), l.builder.getI64IntegerAttr(0));
    SmallVector<Value> starts(type.getRank(), zero);
    starts[dim] = first;
    return DynamicSliceOp::create(l.builder, l.getLoc(), type.clone(shape),
                                  value, starts, shape);
  }
  if (count == type.getDimSize(dim))
    return value;
  SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
  SmallVector<int64_t> limits(shape);
  starts[dim] = base + phase.constant();
  limits[dim] = starts[dim] + count;
  return SliceOp::create(l.builder, l.getLoc(), type.clone(shape), value,
                         starts, limits, strides);
}

Value shoal::padRows(Localizer &l, Value value, int64_t dim, int64_t low,
                     int64_t high, int64_t interior, Value fill) {
  RankedTensorType type = typeOf(value);
  int64_t rows = type.getDimSize(dim);
  if (low == 0 && high == 0 && (interior == 0 || rows < 2))
    return value;
  SmallVector<int64_t> shape(type.getShape()), none(type.getRank(), 0);
  shape[dim] = low + rows + high + interior * std::max<int64_t>(rows - 1, 0);
  SmallVector<int64_t> before = none, behind = none, between = none;
  before[dim] = low;
  behind[dim] = high;
  between[dim] = interior;
  return PadOp::create(l.builder, l.getLoc(), type.clone(shape), value, fill,
                       before, behind, between);
}

Value shoal::padRows(Localizer &l, Value value, int64_t dim, int64_t low,
                     int64_t high, int64_t interior, TypedAttr fill) {
  return padRows(l, value, dim, low, high, interior,
                 l.splat(RankedTensorType::get({}, fill.getType()), fill));
}

Value shoal::fetchWindows(Localizer &l, Value value, const SplitDim &split,
                          const RowMap &map, int64_t block, TypedAttr fill,
                          WindowDim &window) {
  RowMap read = fromFirstRow(map);
  RowWindow rows = windowOf(read, block);
  // The places that the block reads, from the first to the last, on rows that
  // stand `divisor` apart; the first row is fetched `skipped` places further on
  // at most.
  int64_t span = std::abs(map.scale) * (block - 1) + map.high - map.low + 1;
  int64_t skipped = read.low - map.low;
  Value fetched =
      l.fetchRows(value, split.dim, split.size, split.axes, rows, fill);
  int64_t spread = (rows.rows - 1) * map.divisor + 1;
  Phase first{rows.step, rows.offset, map.divisor};
  window.low = window.high = 0;
  if (first.isConstant()) {
    window.low = skipped - first.constant();
    window.high = span - spread - window.low;
    return fetched;
  }
  // Where windows begin between the rows depends on the device: the holes are
  // written out, and what is before the first place cut off.
  int64_t behind =
      std::max<int64_t>(map.divisor - 1 + span - spread - skipped, 0);
  fetched =
      padRows(l, fetched, split.dim, skipped, behind, map.divisor - 1, fill);
  window.baseDilation = 1;
  return cutAtPhase(l, fetched, split.dim, 0, first, split.axes, span);
}

DenseI64ArrayAttr shoal::listOf(Builder &builder, ArrayRef<WindowDim> window,
                                int64_t WindowDim::*number, int64_t otherwise) {
  auto list = llvm::map_to_vector(
      window, [&](const WindowDim &dim) { return dim.*number; });
  if (llvm::all_equal(list) && (list.empty() || list[0] == otherwise))
    return {};
  return builder.getDenseI64ArrayAttr(list);
}

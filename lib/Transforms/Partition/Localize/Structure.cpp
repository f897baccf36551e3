// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// slice, pad, reverse and concatenate on split dimensions: fetch the rows
// that the device's block of the result reads, then the op on what is there.

#include "IndexMath.h"
#include "Models.h"
#include "Shapes.h"
#include "WindowRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Sharding/DilatedRows.h"
#include "shoal/Transforms/Partition/Localizer.h"
#include "shoal/Transforms/Partition/Passes.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Dimensions of which one row is kept stay as they are until the others are
/// cut; then the device that holds the row has it, and the others nothing.
class LocalSlice {
public:
  LocalSlice(SliceOp op, Localizer &l)
      : op(op), l(l), type(l.localResultType()), starts(op.getStarts()),
        limits(op.getLimits()), strides(op.getStrides()),
        shape(type.getShape()) {}

  Value emit() {
    Value value = l.operands[0];
    for (auto [dim, axes] : llvm::enumerate(l.operandShardings[0].dims))
      if (!axes.empty())
        value = cut(value, dim, axes);
    value = SliceOp::create(l.builder, l.getLoc(), type.clone(shape), value,
                            starts, limits, strides);
    return rows.empty() ? value : keepRows(value);
  }

private:
  Value cut(Value value, int64_t dim, ArrayRef<AxisId> axes) {
    int64_t size = shapeOf(op.getInput())[dim], start = starts[dim];
    bool isRow = size > 1 && shapeOf(op.getResult())[dim] == 1;
    if (isRow)
      rows.push_back(dim);
    else if (size != shapeOf(op.getResult())[dim])
      value = l.fetchRows(value, dim, size, axes,
                          windowOf({op.getStrides()[dim], start, start, 1},
                                   type.getDimSize(dim)));
    starts[dim] = 0;
    limits[dim] = shapeOf(value)[dim];
    if (isRow)
      shape[dim] = limits[dim], strides[dim] = 1;
    return value;
  }

  Value keepRows(Value value) {
    IndexMath math(l);
    SmallVector<Value> places(shape.size(), math.constant(0));
    Value isHeld;
    AxisList axes;
    for (int64_t dim : rows) {
      ArrayRef<AxisId> own = l.operandShardings[0].dims[dim];
      Value first = math.firstRow(own, shape[dim]);
      places[dim] = math.subtract(math.constant(op.getStarts()[dim]), first);
      Value here = math.isBelow(places[dim], shape[dim]);
      isHeld = isHeld ? Value(arith::AndIOp::create(l.builder, l.getLoc(),
                                                    isHeld, here))
                      : here;
      llvm::append_range(axes, own);
    }
    Value row = DynamicSliceOp::create(l.builder, l.getLoc(), type, value,
                                       places, type.getShape());
    bool isBoolean = type.getElementType().isInteger(1);
    ReduceKind kind = isBoolean ? ReduceKind::Or : ReduceKind::Sum;
    Value kept = keepWhere(l, isHeld, row, {},
                           getNeutralElement(kind, type.getElementType()));
    return isBoolean ? reduceOver(l, kept, kind, axes) : kept;
  }

  SliceOp op;
  Localizer &l;
  RankedTensorType type;
  SmallVector<int64_t> starts, limits, strides, shape;
  /// Split dimensions of which one row is kept.
  SmallVector<int64_t> rows;
};

struct Slice : LocalizeOpInterface::ExternalModel<Slice, SliceOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    results.push_back(LocalSlice(cast<SliceOp>(operation), l).emit());
    return success();
  }
};

struct Pad : LocalizeOpInterface::ExternalModel<Pad, PadOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<PadOp>(operation);
    Value value = l.operands[0], element = l.operands[1];
    SmallVector<int64_t> low(op.getLow()), high(op.getHigh());
    SmallVector<int64_t> interior(op.getInterior());
    for (auto [dim, axes] : llvm::enumerate(l.operandShardings[0].dims)) {
      if (axes.empty() || !op.touches(dim))
        continue;
      SplitDim split{int64_t(dim), shapeOf(op.getInput())[dim], axes};
      value = pad(value, split, low[dim], high[dim], interior[dim], l);
    }
    results.push_back(PadOp::create(l.builder, l.getLoc(), l.localResultType(),
                                    value, element, low, high, interior)
                          .getResult());
    return success();
  }

private:
  /// Fetches the rows of the device's block. What is left to pad them with
  /// takes the place of the numbers.
  static Value pad(Value value, const SplitDim &split, int64_t &low,
                   int64_t &high, int64_t &interior, Localizer &l) {
    int64_t block = l.localResultType().getDimSize(split.dim);
    Value element = l.operands[1];
    RowWindow window = windowOf(rowsOfPadding(low, interior), block);
    value =
        l.fetchRows(value, split.dim, split.size, split.axes, window, element);
    // The first of them stands at place `behind` of the block at most, the
    // phase before that.
    int64_t behind = window.offset + low, between = std::exchange(interior, 0);
    Phase phase{window.step, window.offset, window.divisor};
    low = high = 0;
    if (block == 0)
      return value;
    if (phase.isConstant()) {
      low = behind - phase.constant();
      high = block - low - window.rows - between * (window.rows - 1);
      interior = between;
      return value;
    }
    value = padRows(l, value, split.dim, behind, between, between, element);
    return cutAtPhase(l, value, split.dim, 0, phase, split.axes, block);
  }
};

struct Reverse : LocalizeOpInterface::ExternalModel<Reverse, ReverseOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<ReverseOp>(operation);
    Value value = l.operands[0];
    SmallVector<int64_t> even;
    for (int64_t dim : op.getDims()) {
      int64_t size = shapeOf(op.getInput())[dim];
      ArrayRef<AxisId> axes = l.operandShardings[0].dims[dim];
      if (axes.empty())
        continue;
      if (size % l.mesh.sizeOf(axes) == 0)
        even.push_back(dim);
      else
        value = reverseBlocks(value, dim, size, axes, l);
    }
    results.push_back(ReverseOp::create(
        l.builder, l.getLoc(), l.localResultType(),
        even.empty() ? value : reverseBlocks(value, even, l), op.getDims()));
    return success();
  }

private:
  static Value reverseBlocks(Value value, int64_t dim, int64_t size,
                             ArrayRef<AxisId> axes, Localizer &l) {
    return l.fetchRows(
        value, dim, size, axes,
        windowOf({-1, size - 1, size - 1, 1}, shapeOf(value)[dim]));
  }

  /// In all of the dimensions at once, as whole blocks change places: to
  /// reverse the index over each one's axes is to reverse that over all.
  static Value reverseBlocks(Value value, ArrayRef<int64_t> dims,
                             Localizer &l) {
    AxisList axes;
    for (int64_t dim : dims)
      axes.append(l.operandShardings[0].dims[dim]);
    int64_t size = shapeOf(value)[dims[0]] * l.mesh.sizeOf(axes);
    return reverseBlocks(value, dims[0], size, axes, l);
  }
};

struct Concatenate
    : LocalizeOpInterface::ExternalModel<Concatenate, ConcatenateOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    auto op = cast<ConcatenateOp>(operation);
    int64_t along = op.getDim();
    ArrayRef<AxisId> axes = l.resultShardings[0].dims[along];
    results.push_back(axes.empty() ? l.cloneLocally()->getResult(0)
                                   : select(op, along, axes, l));
    return success();
  }

private:
  /// Of each operand the rows that would stand in the device's block, were they
  /// all this operand's; of these the one whose place it is.
  static Value select(ConcatenateOp op, int64_t along, ArrayRef<AxisId> axes,
                      Localizer &l) {
    Location loc = l.getLoc();
    RankedTensorType type = l.localResultType();
    int64_t block = type.getDimSize(along), place = 0;
    RankedTensorType rowType = type.clone(l.builder.getI32Type());
    Value row = IotaOp::create(l.builder, loc, rowType, along);
    row = arith::AddIOp::create(l.builder, loc, row,
                                l.spread(l.firstRow(axes, block), rowType));
    Value result;
    for (auto [input, value] : llvm::zip_equal(op.getInputs(), l.operands)) {
      int64_t size = shapeOf(input)[along];
      if (size == 0)
        continue;
      Value rows = l.fetchRows(value, along, size, axes,
                               windowOf({1, -place, -place, 1}, block));
      Value begin = l.splat(rowType, l.builder.getI32IntegerAttr(place));
      if (result) {
        Value isBefore = arith::CmpIOp::create(
            l.builder, loc, arith::CmpIPredicate::slt, row, begin);
        result =
            arith::SelectOp::create(l.builder, loc, isBefore, result, rows);
      } else {
        result = rows;
      }
      place += size;
    }
    return result ? result
                  : l.splat(type, l.builder.getZeroAttr(type.getElementType()));
  }
};

/// The device's first row is added where the counted dimension is split.
struct Iota : LocalizeOpInterface::ExternalModel<Iota, IotaOp> {
  LogicalResult localize(Operation *op, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    Value local = l.cloneLocally()->getResult(0);
    int64_t dim = cast<IotaOp>(op).getDim();
    ArrayRef<AxisId> axes = l.resultShardings[0].dims[dim];
    if (!axes.empty() && isRounded(op->getResult(0), dim))
      local = countInIntegers(dim, axes, l);
    else if (!axes.empty())
      local = addFirstRow(local, l.firstRow(axes, shapeOf(local)[dim]), l);
    results.push_back(local);
    return success();
  }

private:
  /// Whether the type does not hold all numbers: rounded before the first row
  /// is added, they would be rounded twice.
  static bool isRounded(Value result, int64_t dim) {
    auto type = cast<RankedTensorType>(result.getType());
    auto element = dyn_cast<FloatType>(type.getElementType());
    return element && type.getDimSize(dim) - 1 >
                          (int64_t(1) << element.getFPMantissaWidth());
  }

  static Value countInIntegers(int64_t dim, ArrayRef<AxisId> axes,
                               Localizer &l) {
    RankedTensorType type = l.localResultType();
    RankedTensorType numbers = type.clone(l.builder.getI32Type());
    Value local = IotaOp::create(l.builder, l.getLoc(), numbers, dim);
    local = addFirstRow(local, l.firstRow(axes, type.getDimSize(dim)), l);
    return arith::SIToFPOp::create(l.builder, l.getLoc(), type, local);
  }

  static Value addFirstRow(Value local, Value first, Localizer &l) {
    auto type = cast<RankedTensorType>(local.getType());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    if (isa<FloatType>(type.getElementType())) {
      first = arith::SIToFPOp::create(l.builder, l.getLoc(), scalar, first);
      return arith::AddFOp::create(l.builder, l.getLoc(), local,
                                   l.spread(first, type));
    }
    unsigned width = type.getElementTypeBitWidth();
    if (width > 32)
      first = arith::ExtSIOp::create(l.builder, l.getLoc(), scalar, first);
    else if (width < 32)
      first = arith::TruncIOp::create(l.builder, l.getLoc(), scalar, first);
    return arith::AddIOp::create(l.builder, l.getLoc(), local,
                                 l.spread(first, type));
  }
};

} // namespace

void shoal::registerStructureLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    IotaOp::attachInterface<Iota>(*context);
    SliceOp::attachInterface<Slice>(*context);
    PadOp::attachInterface<Pad>(*context);
    ReverseOp::attachInterface<Reverse>(*context);
    ConcatenateOp::attachInterface<Concatenate>(*context);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Packing.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Whether every split dimension of `whole` divides evenly.
static bool dividesEvenly(Value whole, const AxesPerDim &axes, MeshAttr mesh) {
  auto shape = cast<RankedTensorType>(whole.getType()).getShape();
  for (auto [size, list] : llvm::zip_equal(shape, axes))
    if (size % sizeOf(list, mesh) != 0)
      return false;
  return true;
}

Attribute shoal::packingKey(Operation *op) {
  SmallVector<Attribute> key = {
      StringAttr::get(op->getContext(), op->getName().getStringRef())};
  auto add = [&](auto collective, ArrayRef<AxisRefAttr> axes) {
    auto type = cast<RankedTensorType>(collective.getInput().getType());
    key.push_back(collective.getMeshAttr());
    key.push_back(AxesAttr::get(op->getContext(), axes));
    key.push_back(TypeAttr::get(type.getElementType()));
    return type.getNumElements() > 0;
  };
  bool canPack =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case<AllReduceOp>([&](auto reduce) {
            key.push_back(reduce.getKindAttr());
            return add(reduce, reduce.getAxes().getAxes());
          })
          .Case<AllGatherOp>([&](auto gather) {
            return add(gather, flatten(toLists(gather.getAxes())));
          })
          .Case<ReduceScatterOp>([&](auto scatter) {
            AxesPerDim axes = toLists(scatter.getAxes());
            key.push_back(scatter.getKindAttr());
            // Rows that fill up the last shard would have to be made.
            return dividesEvenly(
                       scatter.getInput(), axes,
                       lookupMesh(op, scatter.getMeshAttr()).getMesh()) &&
                   add(scatter, flatten(axes));
          })
          .Default([](Operation *) { return false; });
  return canPack ? ArrayAttr::get(op->getContext(), key) : Attribute();
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

namespace {

/// Packs by columns: every op gives rows of its own width, row i being what
/// device i of the group sends, or one row that all devices send; the rows of
/// all ops stand side by side in one tensor, [rows, elements].
///
/// With p devices in the group and n columns in all, for shards of 2 x 3 whose
/// first dimension is the one that is split:
///
///        the op           operand -> rows       packed ->   columns -> result
///   (P1) all_reduce       [2, 3] -> [1, 6]      [1, n]      [1, 6] -> [2, 3]
///   (P2) all_gather       [2, 3] -> [1, 6]      [p, n]      [p, 6] ->
///                                                           [p, 2, 3] ->
///                                                           [2p, 3], cut
///   (P3) reduce_scatter   [2p, 3] -> [p, 2, 3]  [1, n]      [1, 6] -> [2, 3]
///                         -> [p, 6]
///
/// (P2) cuts rows that fill up the last shard; (P3) has none, see packingKey.
class Packer {
public:
  explicit Packer(ArrayRef<Operation *> ops)
      : ops(ops), builder(FusedLoc::get(ops[0]->getContext(), locationsOf(ops)),
                          ops.back()) {
    assert(llvm::all_equal(llvm::map_range(ops, packingKey)) &&
           "the ops are of one kind and group");
    assert(llvm::is_sorted(ops,
                           [](Operation *a, Operation *b) {
                             return a->isBeforeInBlock(b);
                           }) &&
           "the ops stand in one block, the last one last");
  }

  SmallVector<Value> run();

private:
  static SmallVector<Location> locationsOf(ArrayRef<Operation *> ops) {
    return llvm::map_to_vector(ops, [](Operation *op) { return op->getLoc(); });
  }
  RankedTensorType typeOf(Value value) const {
    return cast<RankedTensorType>(value.getType());
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    return ReshapeOp::create(builder, typeOf(value).clone(shape), value);
  }
  Value transpose(Value value, ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> shape;
    for (int64_t dim : permutation)
      shape.push_back(typeOf(value).getDimSize(dim));
    return TransposeOp::create(builder, typeOf(value).clone(shape), value,
                               permutation);
  }
  /// Rows [starts, limits) of every dimension.
  Value slice(Value value, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits);
  /// Columns of a rank-2 tensor beginning at `begin`, which moves on.
  Value takeColumns(Value packed, int64_t count, int64_t &begin);
  Value concatColumns(ArrayRef<Value> rows);
  StringAttr reasons();

  Value toRows(Operation *op);
  Value communicate(Value packed);
  Value toResult(Operation *op, Value columns);
  /// What one device has: the shard, or what is reduced.
  RankedTensorType shardOf(Operation *op) const {
    return typeOf(isa<AllGatherOp>(op) ? op->getOperand(0) : op->getResult(0));
  }
  AxesPerDim axesOf(Operation *op) const {
    if (auto gather = dyn_cast<AllGatherOp>(op))
      return toLists(gather.getAxes());
    return toLists(cast<ReduceScatterOp>(op).getAxes());
  }

  /// For a tensor split over `axes`: the sizes of all groups and blocks,
  /// [p0, b0, p1, b1, ...] without those p of dimensions that are not split,
  /// and the order that puts the p first.
  struct Tiling {
    SmallVector<int64_t> tiles, groupsFirst;
    int64_t groupSize = 1;
    SmallVector<int64_t> inverse() const {
      SmallVector<int64_t> result(groupsFirst.size());
      for (auto [to, from] : llvm::enumerate(groupsFirst))
        result[from] = to;
      return result;
    }
    SmallVector<int64_t> permutedTiles() const {
      return llvm::map_to_vector(groupsFirst,
                                 [&](int64_t dim) { return tiles[dim]; });
    }
  };
  Tiling tile(Operation *op) const;
  MeshAttr mesh() const {
    auto symbol = ops[0]->getAttrOfType<FlatSymbolRefAttr>("mesh");
    return lookupMesh(ops[0], symbol).getMesh();
  }

  ArrayRef<Operation *> ops;
  ImplicitLocOpBuilder builder;
};

} // namespace

Value Packer::slice(Value value, ArrayRef<int64_t> starts,
                    ArrayRef<int64_t> limits) {
  SmallVector<int64_t> shape;
  for (auto [start, limit] : llvm::zip_equal(starts, limits))
    shape.push_back(limit - start);
  if (ArrayRef(shape) == typeOf(value).getShape())
    return value;
  SmallVector<int64_t> strides(shape.size(), 1);
  return SliceOp::create(builder, typeOf(value).clone(shape), value, starts,
                         limits, strides);
}

Value Packer::takeColumns(Value packed, int64_t count, int64_t &begin) {
  int64_t rows = typeOf(packed).getDimSize(0);
  Value columns = slice(packed, {0, begin}, {rows, begin + count});
  begin += count;
  return columns;
}

Value Packer::concatColumns(ArrayRef<Value> rows) {
  int64_t count = 0;
  for (Value value : rows)
    count += typeOf(value).getDimSize(1);
  auto type = typeOf(rows[0]).clone({typeOf(rows[0]).getDimSize(0), count});
  return ConcatenateOp::create(builder, type, rows, /*dim=*/1);
}

StringAttr Packer::reasons() {
  std::string text = std::to_string(ops.size()) + " combined";
  const char *separator = ": ";
  for (Operation *op : ops)
    if (auto why = op->getAttrOfType<StringAttr>("why")) {
      text += separator + why.str();
      separator = "; ";
    }
  return builder.getStringAttr(text);
}

Packer::Tiling Packer::tile(Operation *op) const {
  Tiling tiling;
  SmallVector<int64_t> blocks;
  for (auto [size, list] :
       llvm::zip_equal(shardOf(op).getShape(), axesOf(op))) {
    if (!list.empty()) {
      tiling.groupsFirst.push_back(tiling.tiles.size());
      tiling.tiles.push_back(sizeOf(list, mesh()));
      tiling.groupSize *= tiling.tiles.back();
    }
    blocks.push_back(tiling.tiles.size());
    tiling.tiles.push_back(size);
  }
  llvm::append_range(tiling.groupsFirst, blocks);
  return tiling;
}

Value Packer::toRows(Operation *op) {
  Value operand = op->getOperand(0);
  int64_t columns = shardOf(op).getNumElements();
  if (!isa<ReduceScatterOp>(op)) // (P1), (P2)
    return reshape(operand, {1, columns});
  Tiling tiling = tile(op); // (P3)
  Value tiles = reshape(operand, tiling.tiles);
  return reshape(transpose(tiles, tiling.groupsFirst),
                 {tiling.groupSize, columns});
}

Value Packer::communicate(Value packed) {
  MLIRContext *context = builder.getContext();
  int64_t columns = typeOf(packed).getDimSize(1);
  if (auto reduce = dyn_cast<AllReduceOp>(ops[0])) // (P1)
    return AllReduceOp::create(builder, packed.getType(), reduce.getKindAttr(),
                               reduce.getMeshAttr(), reduce.getAxesAttr(),
                               packed, reasons());
  AxisRefs group = flatten(axesOf(ops[0]));
  ArrayAttr axes = toAttr({group, {}}, context);
  if (auto gather = dyn_cast<AllGatherOp>(ops[0])) { // (P2)
    auto type = typeOf(packed).clone({sizeOf(group, mesh()), columns});
    return AllGatherOp::create(builder, type, gather.getMeshAttr(), axes,
                               packed, reasons());
  }
  auto scatter = cast<ReduceScatterOp>(ops[0]); // (P3)
  return ReduceScatterOp::create(builder, typeOf(packed).clone({1, columns}),
                                 scatter.getKindAttr(), scatter.getMeshAttr(),
                                 axes, packed, reasons());
}

Value Packer::toResult(Operation *op, Value columns) {
  RankedTensorType type = typeOf(op->getResult(0));
  if (!isa<AllGatherOp>(op)) // (P1), (P3)
    return reshape(columns, type.getShape());
  Tiling tiling = tile(op); // (P2)
  SmallVector<int64_t> whole, zeros(type.getRank(), 0);
  for (auto [size, list] : llvm::zip_equal(shardOf(op).getShape(), axesOf(op)))
    whole.push_back(size * sizeOf(list, mesh()));
  Value tiles =
      transpose(reshape(columns, tiling.permutedTiles()), tiling.inverse());
  return slice(reshape(tiles, whole), zeros, type.getShape());
}

SmallVector<Value> Packer::run() {
  Value packed = communicate(concatColumns(
      llvm::map_to_vector(ops, [&](Operation *op) { return toRows(op); })));
  int64_t begin = 0;
  return llvm::map_to_vector(ops, [&](Operation *op) {
    int64_t count = shardOf(op).getNumElements();
    return toResult(op, takeColumns(packed, count, begin));
  });
}

SmallVector<Value> shoal::pack(ArrayRef<Operation *> ops) {
  return Packer(ops).run();
}

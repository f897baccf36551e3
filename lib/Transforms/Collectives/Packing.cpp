// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Packing.h"
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

/// Builds tensors of [group, elements]: row i is what device i of the group
/// sends or gets.
class Packer {
public:
  explicit Packer(ArrayRef<Operation *> ops)
      : ops(ops), builder(FusedLoc::get(ops[0]->getContext(), locationsOf(ops)),
                          ops.back()) {}

  SmallVector<Value> packReductions();
  SmallVector<Value> packGathers();
  SmallVector<Value> packScatters();

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
  Tiling tile(ArrayRef<int64_t> localShape, const AxesPerDim &axes) const;
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

Packer::Tiling Packer::tile(ArrayRef<int64_t> localShape,
                            const AxesPerDim &axes) const {
  Tiling tiling;
  SmallVector<int64_t> blocks;
  for (auto [size, list] : llvm::zip_equal(localShape, axes)) {
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

SmallVector<Value> Packer::packReductions() {
  auto first = cast<AllReduceOp>(ops[0]);
  SmallVector<Value> rows;
  for (Operation *op : ops)
    rows.push_back(reshape(op->getOperand(0),
                           {1, typeOf(op->getOperand(0)).getNumElements()}));
  Value packed = concatColumns(rows);
  packed = AllReduceOp::create(builder, packed.getType(), first.getKindAttr(),
                               first.getMeshAttr(), first.getAxesAttr(), packed,
                               reasons());
  SmallVector<Value> results;
  int64_t begin = 0;
  for (Operation *op : ops) {
    RankedTensorType type = typeOf(op->getResult(0));
    results.push_back(reshape(takeColumns(packed, type.getNumElements(), begin),
                              type.getShape()));
  }
  return results;
}

SmallVector<Value> Packer::packGathers() {
  auto first = cast<AllGatherOp>(ops[0]);
  AxisRefs group = flatten(toLists(first.getAxes()));
  SmallVector<Value> rows;
  for (Operation *op : ops)
    rows.push_back(reshape(op->getOperand(0),
                           {1, typeOf(op->getOperand(0)).getNumElements()}));
  Value packed = concatColumns(rows);
  auto type = typeOf(packed).clone(
      {sizeOf(group, mesh()), typeOf(packed).getDimSize(1)});
  packed = AllGatherOp::create(builder, type, first.getMeshAttr(),
                               toAttr({group, {}}, builder.getContext()),
                               packed, reasons());
  SmallVector<Value> results;
  int64_t begin = 0;
  for (Operation *op : ops) {
    RankedTensorType local = typeOf(op->getOperand(0));
    RankedTensorType whole = typeOf(op->getResult(0));
    Tiling tiling =
        tile(local.getShape(), toLists(cast<AllGatherOp>(op).getAxes()));
    Value value = takeColumns(packed, local.getNumElements(), begin);
    value = transpose(reshape(value, tiling.permutedTiles()), tiling.inverse());
    // Shards one behind the other, cut to the tensor's size.
    SmallVector<int64_t> padded, zeros(local.getRank(), 0);
    for (auto [size, list] : llvm::zip_equal(
             local.getShape(), toLists(cast<AllGatherOp>(op).getAxes())))
      padded.push_back(size * sizeOf(list, mesh()));
    results.push_back(slice(reshape(value, padded), zeros, whole.getShape()));
  }
  return results;
}

SmallVector<Value> Packer::packScatters() {
  auto first = cast<ReduceScatterOp>(ops[0]);
  AxisRefs group = flatten(toLists(first.getAxes()));
  SmallVector<Value> rows;
  for (Operation *op : ops) {
    RankedTensorType local = typeOf(op->getResult(0));
    Tiling tiling =
        tile(local.getShape(), toLists(cast<ReduceScatterOp>(op).getAxes()));
    Value value = reshape(op->getOperand(0), tiling.tiles);
    rows.push_back(reshape(transpose(value, tiling.groupsFirst),
                           {tiling.groupSize, local.getNumElements()}));
  }
  Value packed = concatColumns(rows);
  auto type = typeOf(packed).clone({1, typeOf(packed).getDimSize(1)});
  packed = ReduceScatterOp::create(
      builder, type, first.getKindAttr(), first.getMeshAttr(),
      toAttr({group, {}}, builder.getContext()), packed, reasons());
  SmallVector<Value> results;
  int64_t begin = 0;
  for (Operation *op : ops) {
    RankedTensorType local = typeOf(op->getResult(0));
    results.push_back(reshape(
        takeColumns(packed, local.getNumElements(), begin), local.getShape()));
  }
  return results;
}

SmallVector<Value> shoal::pack(ArrayRef<Operation *> ops) {
  Packer packer(ops);
  if (isa<AllReduceOp>(ops[0]))
    return packer.packReductions();
  if (isa<AllGatherOp>(ops[0]))
    return packer.packGathers();
  return packer.packScatters();
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"

using namespace mlir;
using namespace shoal;

static constexpr StringLiteral kLayouts = "shoal.layouts";
static constexpr StringLiteral kNumber = "shoal.number";

/// What stands under `key` in the metadata of `loc` itself, or of locations
/// that wrap it alone.
static Attribute findNote(Location loc, StringRef key) {
  while (auto fused = dyn_cast<FusedLoc>(loc)) {
    if (auto notes = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()))
      if (Attribute note = notes.get(key))
        return note;
    if (fused.getLocations().size() != 1)
      break;
    loc = fused.getLocations().front();
  }
  return {};
}

static Location withNote(Location loc, StringRef key, Attribute note) {
  Builder builder(loc.getContext());
  auto metadata = builder.getDictionaryAttr(builder.getNamedAttr(key, note));
  return FusedLoc::get(loc.getContext(), {loc}, metadata);
}

//===----------------------------------------------------------------------===//
// Layouts: an array with an entry per result, a dictionary or nothing (unit)
//===----------------------------------------------------------------------===//

static Attribute toAttribute(const LayoutNote &note) {
  Builder builder(note.sharding.getContext());
  NamedAttrList entry;
  entry.set("type", TypeAttr::get(note.globalType));
  entry.set("sharding", note.sharding);
  if (note.manualAxes)
    entry.set("manual", note.manualAxes);
  if (note.origin)
    entry.set("origin", note.origin);
  return entry.getDictionary(builder.getContext());
}

/// Whether `type` is that of a shard.
static bool isShard(RankedTensorType type, const LayoutNote &note,
                    MeshOp mesh) {
  SmallVector<int64_t> shape(note.globalType.getShape());
  if (shape.size() != note.sharding.getDims().size())
    return false;
  for (auto [size, dim] : llvm::zip_equal(shape, note.sharding.getDims()))
    size = shardSize(size, sizeOf(dim.getAxes(), mesh.getMesh()));
  return type == note.globalType.clone(shape);
}

std::optional<LayoutNote> shoal::getLayoutNote(OpResult value) {
  Operation *op = value.getOwner();
  auto entries = dyn_cast_or_null<ArrayAttr>(findNote(op->getLoc(), kLayouts));
  if (!entries || entries.size() != op->getNumResults())
    return std::nullopt;
  auto entry = dyn_cast<DictionaryAttr>(entries[value.getResultNumber()]);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!entry || !type)
    return std::nullopt;
  LayoutNote note{
      cast<RankedTensorType>(entry.getAs<TypeAttr>("type").getValue()),
      entry.getAs<ShardingAttr>("sharding"), entry.getAs<AxesAttr>("manual"),
      entry.getAs<StringAttr>("origin")};
  MeshOp mesh = lookupMesh(op, note.sharding.getMesh());
  if (!mesh || !isShard(type, note, mesh))
    return std::nullopt;
  return note;
}

/// `loc` without the layouts that it notes.
static Location withoutLayouts(Location loc) {
  if (!findNote(loc, kLayouts))
    return loc;
  auto fused = cast<FusedLoc>(loc);
  auto notes = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata());
  Location inner = withoutLayouts(fused.getLocations().front());
  if (notes && notes.get(kLayouts))
    return inner;
  return FusedLoc::get(loc.getContext(), {inner}, fused.getMetadata());
}

void shoal::noteLayout(OpResult value, const LayoutNote &note) {
  if (getLayoutNote(value))
    return;
  Operation *op = value.getOwner();
  SmallVector<Attribute> entries(op->getNumResults(),
                                 UnitAttr::get(op->getContext()));
  if (auto before =
          dyn_cast_or_null<ArrayAttr>(findNote(op->getLoc(), kLayouts));
      before && before.size() == entries.size())
    entries.assign(before.begin(), before.end());
  entries[value.getResultNumber()] = toAttribute(note);
  op->setLoc(withNote(withoutLayouts(op->getLoc()), kLayouts,
                      ArrayAttr::get(op->getContext(), entries)));
}

std::optional<LayoutNote> shoal::takeLayoutNote(OpResult value) {
  std::optional<LayoutNote> note = getLayoutNote(value);
  Operation *op = value.getOwner();
  op->setLoc(withoutLayouts(op->getLoc()));
  return note;
}

void shoal::copyLayoutNote(Value from, Value to) {
  auto source = dyn_cast<OpResult>(from);
  auto target = dyn_cast<OpResult>(to);
  if (!source || !target)
    return;
  if (std::optional<LayoutNote> note = getLayoutNote(source))
    noteLayout(target, *note);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kGradient = "gradient";
/// JAX names what it transposes so, `jit(f)/transpose(jvp(g))/mul`.
static constexpr StringLiteral kTransposed = "transpose(";

Location shoal::noteGradient(Location loc) {
  MLIRContext *context = loc.getContext();
  return FusedLoc::get(context, {loc}, StringAttr::get(context, kGradient));
}

bool shoal::isOfGradient(Operation *op) {
  WalkResult walk = op->getLoc()->walk([](Location loc) {
    bool isGradient = false;
    if (auto fused = dyn_cast<FusedLoc>(loc)) {
      auto note = dyn_cast_or_null<StringAttr>(fused.getMetadata());
      isGradient = note && note.getValue() == kGradient;
    } else if (auto name = dyn_cast<NameLoc>(loc)) {
      isGradient = name.getName().getValue().contains(kTransposed);
    }
    return isGradient ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void shoal::noteNumber(Operation *op, int64_t number) {
  Builder builder(op->getContext());
  op->setLoc(
      withNote(op->getLoc(), kNumber, builder.getI64IntegerAttr(number)));
}

std::optional<int64_t> shoal::getNumberNote(Location loc) {
  std::optional<int64_t> largest;
  loc->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    auto notes = fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata())
                       : DictionaryAttr();
    if (auto number = notes ? notes.getAs<IntegerAttr>(kNumber) : IntegerAttr())
      largest = std::max(largest.value_or(-1), number.getInt());
    return WalkResult::advance();
  });
  return largest;
}

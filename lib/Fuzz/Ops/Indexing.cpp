// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that read or write where an operand says.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static Known anyValue(ProgramBuilder &p) {
  return p.pickOr([](const Known &k) { return k.type().getRank() > 0; },
                  [&] { return p.tensor(p.shape(1, 3), p.elementType()); });
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A start a dimension; those of arguments lie on both sides of 0.
static void addStarts(ProgramBuilder &p, int64_t count,
                      SmallVectorImpl<Value> &operands) {
  auto type = p.tensor({}, p.integerType());
  for (int64_t i = 0; i < count; ++i)
    operands.push_back(p.pickOfType(type).value);
}

static SmallVector<int64_t> partOf(ProgramBuilder &p, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes;
  for (int64_t size : shape)
    sizes.push_back(size -
                    (p.choices.chance(60) ? p.choices.below(size + 1) : 0));
  return sizes;
}

static bool makeDynamicSlice(ProgramBuilder &p) {
  Known a = anyValue(p);
  SmallVector<int64_t> sizes = partOf(p, a.shape());
  SmallVector<Value> operands{a.value};
  addStarts(p, sizes.size(), operands);
  p.add(p.op("shoal.dynamic_slice", operands, p.tensor(sizes, a.element()),
             p.builder.getNamedAttr("sizes",
                                    p.builder.getDenseI64ArrayAttr(sizes)))
            ->getResult(0),
        a.range);
  return true;
}

static bool makeDynamicUpdateSlice(ProgramBuilder &p) {
  Known a = anyValue(p);
  SmallVector<int64_t> sizes = partOf(p, a.shape());
  Known update = p.pickOfType(p.tensor(sizes, a.element()));
  SmallVector<Value> operands{a.value, update.value};
  addStarts(p, sizes.size(), operands);
  p.add(p.op("shoal.dynamic_update_slice", operands, a.type())->getResult(0),
        either(a.range, update.range));
  return true;
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

namespace {

/// Windows of `operand`, and an array of indices for them.
struct Windows {
  SmallVector<int64_t> sizes, offsetDims, collapsed, operandBatching,
      indicesBatching, map, indicesShape, shape;
  int64_t vectorDim = 0, count = 1;

  Windows(ProgramBuilder &p, ArrayRef<int64_t> operand) {
    SmallVector<int64_t> batch, windows;
    // Per batching dimension of the operand, its place in `batch`.
    SmallVector<int64_t> batching;
    for (auto [dim, size] : llvm::enumerate(operand)) {
      if (size > 0 && p.choices.chance(15)) {
        operandBatching.push_back(dim);
        batching.push_back(batch.size());
        batch.push_back(size);
        sizes.push_back(1);
        continue;
      }
      if (p.choices.chance(60))
        map.push_back(dim);
      bool isCollapsed = size > 0 && p.choices.chance(40);
      if (isCollapsed) {
        collapsed.push_back(dim);
        sizes.push_back(1);
      } else {
        bool isPart = size > 0 && p.choices.chance(50);
        sizes.push_back(size - (isPart ? p.choices.below(size) : 0));
        windows.push_back(sizes.back());
      }
    }
    p.choices.shuffle(map);
    addIndices(p, batch, batching);
    addOffsets(p, batch, windows);
    for (int64_t size : batch)
      count *= size;
  }

private:
  /// More dimensions of `indices`, and the one of the index vector.
  void addIndices(ProgramBuilder &p, SmallVector<int64_t> &batch,
                  ArrayRef<int64_t> batching) {
    auto places = llvm::to_vector(llvm::seq<int64_t>(batch.size()));
    for (unsigned more = p.choices.below(3); more > 0; --more) {
      size_t at = p.choices.below(batch.size() + 1);
      batch.insert(batch.begin() + at, p.size());
      for (int64_t &place : places)
        place += place >= int64_t(at);
    }
    bool isScalar = map.size() == 1 && p.choices.chance(30);
    vectorDim = isScalar ? batch.size() : p.choices.below(batch.size() + 1);
    indicesShape = batch;
    if (!isScalar)
      indicesShape.insert(indicesShape.begin() + vectorDim, map.size());
    for (int64_t place : batching)
      indicesBatching.push_back(places[place] +
                                (places[place] >= vectorDim ? 1 : 0));
  }

  /// The windows' dimensions in between those of the batch.
  void addOffsets(ProgramBuilder &p, ArrayRef<int64_t> batch,
                  ArrayRef<int64_t> windows) {
    size_t b = 0, w = 0;
    while (b < batch.size() || w < windows.size()) {
      bool isWindow =
          b == batch.size() || (w < windows.size() && p.choices.chance(50));
      if (isWindow)
        offsetDims.push_back(shape.size());
      shape.push_back(isWindow ? windows[w++] : batch[b++]);
    }
  }
};

} // namespace

static bool makeGather(ProgramBuilder &p) {
  Known a = anyValue(p);
  Windows w(p, a.shape());
  if (!p.fits(w.shape) || !p.fits(w.indicesShape))
    return false;
  Known indices = p.pickOfType(p.tensor(w.indicesShape, p.integerType()));
  SmallVector<NamedAttribute> attributes;
  auto add = [&](StringRef name, ArrayRef<int64_t> list) {
    attributes.push_back(
        p.builder.getNamedAttr(name, p.builder.getDenseI64ArrayAttr(list)));
  };
  add("offset_dims", w.offsetDims);
  add("collapsed_slice_dims", w.collapsed);
  add("operand_batching_dims", w.operandBatching);
  add("start_indices_batching_dims", w.indicesBatching);
  add("start_index_map", w.map);
  add("slice_sizes", w.sizes);
  attributes.push_back(p.builder.getNamedAttr(
      "index_vector_dim", p.builder.getI64IntegerAttr(w.vectorDim)));
  p.add(p.op("shoal.gather", {a.value, indices.value},
             p.tensor(w.shape, a.element()), attributes)
            ->getResult(0),
        a.range);
  return true;
}

/// The kind, none being overwrite, and what comes of `n` updates at a place.
static std::optional<Bounds> drawKind(ProgramBuilder &p, Type element,
                                      Bounds range, int64_t n,
                                      std::optional<ReduceKind> &kind) {
  using K = ReduceKind;
  if (p.choices.chance(25))
    return range;
  if (element.isInteger(1))
    kind = p.choices.chance(50) ? K::And : K::Or;
  else if (isFloat8(element))
    kind = p.choices.chance(50) ? K::Max : K::Min;
  else
    kind = p.choices.pick(std::array{K::Sum, K::Max, K::Min, K::Prod, K::Sum});
  return rangeOfReduction(*kind, range, n + 1, element);
}

static bool makeScatter(ProgramBuilder &p) {
  Known a = anyValue(p);
  Windows w(p, a.shape());
  if (!p.fits(w.shape) || !p.fits(w.indicesShape))
    return false;
  Known indices = p.pickOfType(p.tensor(w.indicesShape, p.integerType()));
  Known updates = p.pickOfType(p.tensor(w.shape, a.element()));
  std::optional<ReduceKind> kind;
  auto range =
      drawKind(p, a.element(), either(a.range, updates.range), w.count, kind);
  if (!range || !isUsable(*range, a.element()))
    return false;
  SmallVector<NamedAttribute> attributes;
  auto add = [&](StringRef name, ArrayRef<int64_t> list) {
    attributes.push_back(
        p.builder.getNamedAttr(name, p.builder.getDenseI64ArrayAttr(list)));
  };
  add("update_window_dims", w.offsetDims);
  add("inserted_window_dims", w.collapsed);
  add("input_batching_dims", w.operandBatching);
  add("scatter_indices_batching_dims", w.indicesBatching);
  add("scatter_dims_to_operand_dims", w.map);
  attributes.push_back(p.builder.getNamedAttr(
      "index_vector_dim", p.builder.getI64IntegerAttr(w.vectorDim)));
  if (kind)
    attributes.push_back(p.builder.getNamedAttr(
        "kind", ReduceKindAttr::get(p.builder.getContext(), *kind)));
  p.add(p.op("shoal.scatter", {a.value, indices.value, updates.value}, a.type(),
             attributes)
            ->getResult(0),
        *range);
  return true;
}

void shoal::fuzz::addIndexingGenerators(Generators &generators) {
  generators.add("shoal.dynamic_slice", makeDynamicSlice, 8);
  generators.add("shoal.dynamic_update_slice", makeDynamicUpdateSlice, 8);
  generators.add("shoal.gather", makeGather, 10);
  generators.add("shoal.scatter", makeScatter, 10);
}

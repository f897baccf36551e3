// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static bool makeBroadcast(ProgramBuilder &p) {
  Known a = p.anyValue(0);
  // Dimensions of the operand in any order, new ones in between.
  auto order = llvm::to_vector<6>(llvm::seq<int64_t>(a.type().getRank()));
  if (p.choices.chance(30))
    p.choices.shuffle(order);
  SmallVector<int64_t> dims(order.size()), shape;
  auto addNew = [&] {
    while (p.choices.chance(30))
      shape.push_back(p.size());
  };
  for (int64_t dim : order) {
    addNew();
    dims[dim] = shape.size();
    int64_t size = a.shape()[dim];
    shape.push_back(size == 1 && p.choices.chance(70) ? p.size() : size);
  }
  addNew();
  if (!p.fits(shape))
    return false;
  p.add(BroadcastInDimOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                                 a.value, dims),
        a.range);
  return true;
}

static bool makeTranspose(ProgramBuilder &p) {
  Known a = p.anyValue(2);
  auto permutation = llvm::to_vector<6>(llvm::seq<int64_t>(a.type().getRank()));
  p.choices.shuffle(permutation);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(a.shape()[dim]);
  p.add(TransposeOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                            a.value, permutation),
        a.range);
  return true;
}

static bool makeIota(ProgramBuilder &p) {
  auto type = p.tensor(p.shape(1, 3),
                       p.choices.chance(50) ? p.integerType() : p.floatType());
  int64_t dim = p.choices.below(type.getRank());
  Bounds range{double(type.getDimSize(dim)), 0, 0};
  // Past the largest float there are infinities, which have no integer.
  if (!isUsable(range, type.getElementType()))
    return false;
  p.add(IotaOp::create(p.builder, p.loc, type, dim),
        roundedAlike(range, type.getElementType()));
  return true;
}

static bool makeSlice(ProgramBuilder &p) {
  Known a = p.anyValue(1);
  SmallVector<int64_t> starts, limits, strides, shape;
  for (int64_t size : a.shape()) {
    bool isWhole = size == 0 || p.choices.chance(40);
    int64_t start = isWhole ? 0 : p.choices.below(size);
    int64_t limit = isWhole ? size : size - p.choices.below(size - start);
    int64_t stride = p.choices.chance(30) ? 1 + p.choices.below(4) : 1;
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(stride);
    shape.push_back((limit - start + stride - 1) / stride);
  }
  p.add(SliceOp::create(p.builder, p.loc, p.tensor(shape, a.element()), a.value,
                        starts, limits, strides),
        a.range);
  return true;
}

static bool makePad(ProgramBuilder &p) {
  Known a = p.anyValue(1);
  SmallVector<int64_t> low, high, interior, shape;
  for (int64_t size : a.shape()) {
    bool isPadded = p.choices.chance(70);
    auto edge = [&]() -> int64_t {
      int64_t rows = isPadded ? p.choices.below(4) : 0;
      return p.choices.chance(20) ? -rows : rows;
    };
    low.push_back(edge());
    high.push_back(edge());
    interior.push_back(isPadded && p.choices.chance(25) ? p.choices.below(3)
                                                        : 0);
    shape.push_back(low.back() + size + high.back() +
                    interior.back() * std::max<int64_t>(size - 1, 0));
    if (shape.back() < 0)
      return false;
  }
  if (!p.fits(shape))
    return false;
  auto scalar = p.tensor({}, a.element());
  Known value = p.choices.chance(60)
                    ? p.constant(scalar, a.element().isInteger(1) ? 1 : 2)
                    : p.pickOfType(scalar);
  p.add(PadOp::create(p.builder, p.loc, p.tensor(shape, a.element()), a.value,
                      value.value, low, high, interior),
        either(a.range, value.range));
  return true;
}

static bool makeReverse(ProgramBuilder &p) {
  Known a = p.anyValue(1);
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < a.type().getRank(); ++d)
    if (p.choices.chance(60))
      dims.push_back(d);
  p.add(ReverseOp::create(p.builder, p.loc, a.type(), a.value, dims), a.range);
  return true;
}

static bool makeRoll(ProgramBuilder &p) {
  Known a = p.anyValue(1);
  int64_t dim = p.choices.below(a.type().getRank());
  int64_t size = a.shape()[dim];
  int64_t shift = size > 1 ? p.choices.below(size) : 0;
  p.add(RollOp::create(p.builder, p.loc, a.type(), a.value, dim, shift),
        a.range);
  return true;
}

static bool makeConcatenate(ProgramBuilder &p) {
  Known a = p.anyValue(1);
  int64_t dim = p.choices.below(a.type().getRank());
  SmallVector<Value> operands{a.value};
  SmallVector<int64_t> shape(a.shape());
  Bounds range = a.range;
  for (unsigned i = p.choices.below(3); i > 0; --i) {
    Known next = p.pickOr(
        [&](const Known &k) {
          if (k.element() != a.element() ||
              k.type().getRank() != a.type().getRank())
            return false;
          SmallVector<int64_t> same(k.shape());
          same[dim] = a.shape()[dim];
          return ArrayRef(same) == a.shape();
        },
        [&] {
          SmallVector<int64_t> other(a.shape());
          other[dim] = p.size();
          return p.tensor(other, a.element());
        });
    operands.push_back(next.value);
    shape[dim] += next.shape()[dim];
    range = either(range, next.range);
  }
  p.choices.shuffle(operands);
  if (!p.fits(shape))
    return false;
  p.add(ConcatenateOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                              operands, dim),
        range);
  return true;
}

void shoal::fuzz::addStructureGenerators(Generators &generators) {
  generators.add("shoal.broadcast_in_dim", makeBroadcast, 14);
  generators.add("shoal.transpose", makeTranspose, 12);
  generators.add("shoal.iota", makeIota, 6);
  generators.add("shoal.slice", makeSlice, 16);
  generators.add("shoal.pad", makePad, 14);
  generators.add("shoal.reverse", makeReverse, 10);
  generators.add("shoal.roll", makeRoll, 10);
  generators.add("shoal.concatenate", makeConcatenate, 14);
}

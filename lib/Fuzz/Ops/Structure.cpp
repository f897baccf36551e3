// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The same elements in another shape, and elements that shapes make.

#include "shoal/Fuzz/Generators.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static Known anyValue(ProgramBuilder &p, int64_t minRank) {
  return p.pickOr(
      [&](const Known &k) { return k.type().getRank() >= minRank; },
      [&] { return p.tensor(p.shape(minRank, 4), p.elementType()); });
}

static bool makeBroadcast(ProgramBuilder &p) {
  Known a = anyValue(p, 0);
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
  if (!ProgramBuilder::fits(shape))
    return false;
  p.add(BroadcastInDimOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                                 a.value, dims),
        a.range);
  return true;
}

static bool makeTranspose(ProgramBuilder &p) {
  Known a = anyValue(p, 2);
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

/// The prime factors, cut anew into dimensions.
static SmallVector<int64_t> otherShape(ProgramBuilder &p,
                                       ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0)) // of no elements
    return {0, p.size()};
  SmallVector<int64_t> primes;
  for (int64_t size : shape)
    for (int64_t prime = 2; size > 1;) {
      if (size % prime == 0) {
        primes.push_back(prime);
        size /= prime;
      } else {
        ++prime;
      }
    }
  if (p.choices.chance(20))
    p.choices.shuffle(primes);
  SmallVector<int64_t> result;
  for (int64_t prime : primes) {
    if (result.empty() || p.choices.chance(50))
      result.push_back(prime);
    else
      result.back() *= prime;
    if (p.choices.chance(5))
      result.push_back(1);
  }
  return result;
}

static bool makeReshape(ProgramBuilder &p) {
  Known a = anyValue(p, 0);
  SmallVector<int64_t> shape = otherShape(p, a.shape());
  if (!ProgramBuilder::fits(shape))
    return false;
  p.add(ReshapeOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                          a.value),
        a.range);
  return true;
}

static bool makeIota(ProgramBuilder &p) {
  auto type = p.tensor(p.shape(1, 3),
                       p.choices.chance(50) ? p.integerType() : p.floatType());
  int64_t dim = p.choices.below(type.getRank());
  Bounds range{double(type.getDimSize(dim)), 0, 0};
  p.add(IotaOp::create(p.builder, p.loc, type, dim),
        roundedAlike(range, type.getElementType()));
  return true;
}

/// All elements listed.
static bool makeConstant(ProgramBuilder &p) {
  auto type = p.tensor(p.shape(0, 2), p.choices.chance(40)
                                          ? p.builder.getI32Type()
                                          : Type(p.builder.getF32Type()));
  bool isFloat = isa<FloatType>(type.getElementType());
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t value = p.choices.below(9);
    elements.push_back(isFloat
                           ? Attribute(p.builder.getF32FloatAttr(value - 4))
                           : Attribute(p.builder.getI32IntegerAttr(value - 4)));
  }
  Value made = p.op("arith.constant", {}, type,
                    p.builder.getNamedAttr(
                        "value", DenseElementsAttr::get(type, elements)))
                   ->getResult(0);
  p.add(made, {isFloat ? 4.0 : largestOf(type.getElementType()), 0, 0});
  return true;
}

void shoal::fuzz::addShapeGenerators(Generators &generators) {
  generators.add("shoal.broadcast_in_dim", makeBroadcast, 14);
  generators.add("shoal.transpose", makeTranspose, 12);
  generators.add("shoal.reshape", makeReshape, 20);
  generators.add("shoal.iota", makeIota, 6);
  generators.add("arith.constant", makeConstant, 4);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Selection and order along a dimension.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static bool makeTopK(ProgramBuilder &p) {
  Known a = p.pickOr(
      [](const Known &k) {
        return k.type().getRank() > 0 && k.shape().back() > 0 &&
               k.range.isExact() && !k.element().isInteger(1);
      },
      [&] { return p.tensor(p.shape(1, 3), p.floatType()); });
  SmallVector<int64_t> shape(a.shape());
  if (shape.back() == 0)
    return false;
  shape.back() = 1 + p.choices.below(shape.back());
  auto op = TopKOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                           p.tensor(shape, p.builder.getI32Type()), a.value,
                           shape.back());
  p.add(op.getValues(), a.range);
  p.add(op.getIndices(), {double(a.shape().back()), 0, 0});
  return true;
}

/// Keys that are computed without rounding: another order of summation must
/// not change places.
static Known pickKeys(ProgramBuilder &p) {
  return p.pickOr(
      [](const Known &k) {
        return k.type().getRank() > 0 && k.range.isExact() &&
               !k.element().isInteger(1);
      },
      [&] { return p.tensor(p.shape(1, 3), p.floatType()); });
}

static bool makeSort(ProgramBuilder &p) {
  Known keys = pickKeys(p);
  SmallVector<Known> operands{keys};
  // Keys of lower order, then what is carried along.
  if (p.choices.chance(25))
    operands.push_back(p.pickOfType(
        p.tensor(keys.shape(), p.choices.chance(50) ? p.builder.getI1Type()
                                                    : p.integerType())));
  unsigned numKeys = operands.size();
  while (operands.size() < 3 && p.choices.chance(40))
    operands.push_back(p.pickOfType(
        p.tensor(keys.shape(),
                 p.choices.chance(50) ? p.elementType() : keys.element())));
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (const Known &operand : operands) {
    values.push_back(operand.value);
    types.push_back(operand.type());
  }
  auto op = SortOp::create(p.builder, p.loc, types, values,
                           p.choices.below(keys.type().getRank()), numKeys,
                           p.choices.chance(50));
  for (auto [result, operand] : llvm::zip_equal(op.getResults(), operands))
    p.add(result, operand.range);
  return true;
}

template <typename Op>
static bool makeArg(ProgramBuilder &p) {
  Known keys = pickKeys(p);
  int64_t dim = p.choices.below(keys.type().getRank());
  int64_t size = keys.shape()[dim];
  if (size == 0)
    return false;
  SmallVector<int64_t> shape(keys.shape());
  shape.erase(shape.begin() + dim);
  auto op =
      Op::create(p.builder, p.loc, p.tensor(shape, p.builder.getI32Type()),
                 keys.value, dim);
  p.add(op.getResult(), {double(size), 0, 0});
  return true;
}

void shoal::fuzz::addOrderingGenerators(Generators &generators) {
  generators.add("shoal.top_k", makeTopK, 8);
  generators.add("shoal.sort", makeSort, 8);
  generators.add("shoal.argmax", makeArg<ArgMaxOp>, 4);
  generators.add("shoal.argmin", makeArg<ArgMinOp>, 4);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions whose combiner is a region.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include <cmath>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

namespace {

/// An associative and commutative op on scalars, with its identity.
struct Combiner {
  const char *name;
  arith::AtomicRMWKind kind;
};

} // namespace

static Combiner pickCombiner(ProgramBuilder &p, Type element) {
  using K = arith::AtomicRMWKind;
  if (isa<FloatType>(element))
    return p.choices.pick(std::array{Combiner{"arith.addf", K::addf},
                                     Combiner{"arith.maximumf", K::maximumf},
                                     Combiner{"arith.minimumf", K::minimumf}});
  if (element.isInteger(1))
    return p.choices.pick(std::array{Combiner{"arith.ori", K::ori},
                                     Combiner{"arith.andi", K::andi},
                                     Combiner{"arith.xori", K::xori}});
  return p.choices.pick(std::array{
      Combiner{"arith.addi", K::addi}, Combiner{"arith.maxui", K::maxu},
      Combiner{"arith.minui", K::minu}, Combiner{"arith.maxsi", K::maxs},
      Combiner{"arith.minsi", K::mins}, Combiner{"arith.muli", K::muli},
      Combiner{"arith.andi", K::andi}, Combiner{"arith.ori", K::ori},
      Combiner{"arith.xori", K::xori}});
}

static Value initOf(ProgramBuilder &p, TypedAttr identity) {
  auto type = p.tensor({}, identity.getType());
  return p
      .op("arith.constant", {}, type,
          p.builder.getNamedAttr("value",
                                 SplatElementsAttr::get(type, identity)))
      ->getResult(0);
}

/// Some dimensions, at least one; their number of elements. What remains is
/// the shape of the result.
static int64_t pickDims(ProgramBuilder &p, ArrayRef<int64_t> operand,
                        SmallVectorImpl<int64_t> &dims,
                        SmallVectorImpl<int64_t> &shape) {
  int64_t count = 1;
  for (auto [dim, size] : llvm::enumerate(operand)) {
    if (p.choices.chance(50)) {
      dims.push_back(dim);
      count *= size;
    } else {
      shape.push_back(size);
    }
  }
  return count;
}

static Operation *reduceBy(ProgramBuilder &p, ArrayRef<Known> inputs,
                           ArrayRef<TypedAttr> identities,
                           ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
                           function_ref<SmallVector<Value>(ValueRange)> make) {
  SmallVector<Value> operands;
  SmallVector<Type> scalars, results;
  for (const Known &input : inputs) {
    operands.push_back(input.value);
    scalars.push_back(input.element());
    results.push_back(p.tensor(shape, input.element()));
  }
  for (TypedAttr identity : identities)
    operands.push_back(initOf(p, identity));
  SmallVector<Type> arguments(scalars);
  arguments.append(scalars);
  std::unique_ptr<Region> combiner = p.region(arguments, [&](ValueRange given) {
    p.op("shoal.yield", make(given), {});
  });
  return p.op(
      "shoal.reduce_region", operands, results,
      p.builder.getNamedAttr("dims", p.builder.getDenseI64ArrayAttr(dims)),
      combiner);
}

/// One to three operands, each with a combiner of its own.
static bool makeReduceRegion(ProgramBuilder &p) {
  SmallVector<Known> inputs{
      p.pickOr([](const Known &k) { return k.type().getRank() > 0; },
               [&] { return p.tensor(p.shape(1, 4), p.elementType()); })};
  while (inputs.size() < 3 && p.choices.chance(40))
    inputs.push_back(
        p.pickOfType(p.tensor(inputs[0].shape(), p.elementType())));
  SmallVector<int64_t> dims, shape;
  int64_t count = pickDims(p, inputs[0].shape(), dims, shape);
  SmallVector<StringRef> names;
  SmallVector<TypedAttr> identities;
  SmallVector<Bounds> ranges;
  for (const Known &input : inputs) {
    Combiner combiner = pickCombiner(p, input.element());
    names.push_back(combiner.name);
    identities.push_back(getIdentity(combiner.kind, input.element()));
    Bounds range = anyInteger(input.element());
    if (input.isFloat())
      range = names.back() == "arith.addf"
                  ? sumOf(count, input.range, input.element())
                  : input.range;
    ranges.push_back(range);
    // An infinity is the largest of none.
    if (!isUsable(range, input.element()) || (input.isFloat() && count == 0))
      return false;
  }
  Operation *made =
      reduceBy(p, inputs, identities, dims, shape, [&](ValueRange arguments) {
        SmallVector<Value> combined;
        for (auto [i, name] : llvm::enumerate(names)) {
          Value a = arguments[i], b = arguments[names.size() + i];
          combined.push_back(p.op(name, {a, b}, a.getType())->getResult(0));
        }
        return combined;
      });
  for (auto [result, range] : llvm::zip_equal(made->getResults(), ranges))
    p.add(result, range);
  return true;
}

/// The largest key with the smallest of its numbers: pairs in their order.
static bool makeReducePairs(ProgramBuilder &p) {
  Known keys = p.pickOr(
      [](const Known &k) {
        return k.type().getRank() > 0 && k.range.isExact() &&
               !k.element().isInteger(1);
      },
      [&] { return p.tensor(p.shape(1, 3), p.floatType()); });
  Type integer = p.integerType();
  Known numbers = p.pickOfType(p.tensor(keys.shape(), integer));
  SmallVector<int64_t> dims, shape;
  int64_t count = pickDims(p, keys.shape(), dims, shape);
  if (count == 0)
    return false;
  TypedAttr lowest = getIdentity(ReduceKind::Max, keys.element());
  TypedAttr highest = getIdentity(ReduceKind::Min, integer);
  auto compare = [&](int64_t predicate, Value a, Value b) {
    bool isFloat = isa<FloatType>(a.getType());
    return p
        .op(isFloat ? "arith.cmpf" : "arith.cmpi", {a, b},
            p.builder.getI1Type(),
            p.builder.getNamedAttr("predicate",
                                   p.builder.getI64IntegerAttr(predicate)))
        ->getResult(0);
  };
  Operation *made = reduceBy(
      p, {keys, numbers}, {lowest, highest}, dims, shape, [&](ValueRange v) {
        Type bit = p.builder.getI1Type();
        Value larger =
            compare(keys.isFloat() ? /*ogt*/ 2 : /*sgt*/ 4, v[2], v[0]);
        Value same = compare(keys.isFloat() ? /*oeq*/ 1 : /*eq*/ 0, v[2], v[0]);
        Value smaller = compare(/*slt*/ 2, v[3], v[1]);
        Value first = p.op("arith.andi", {same, smaller}, bit)->getResult(0);
        Value takes = p.op("arith.ori", {larger, first}, bit)->getResult(0);
        auto select = [&](Value a, Value b) {
          return p.op("arith.select", {takes, a, b}, a.getType())->getResult(0);
        };
        return SmallVector<Value>{select(v[2], v[0]), select(v[3], v[1])};
      });
  p.add(made->getResult(0), keys.range);
  p.add(made->getResult(1), anyInteger(integer));
  return true;
}

void shoal::fuzz::addReductionRegionGenerators(Generators &generators) {
  generators.add("shoal.reduce_region", makeReduceRegion, 10);
  generators.add("reduce_region of pairs", makeReducePairs, 5);
}

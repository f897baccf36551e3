// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops and choices, with random ops in their regions; barriers and calls.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static void yield(ProgramBuilder &p, ValueRange values) {
  p.op("shoal.yield", values, {});
}

//===----------------------------------------------------------------------===//
// case
//===----------------------------------------------------------------------===//

/// Devices agree on the way that they take, so no value decides that may differ
/// along manual axes.
static bool makeCase(ProgramBuilder &p) {
  if (p.depth() >= kMaxRegionDepth || !p.manualAxes.empty())
    return false;
  bool isIf = p.choices.chance(40);
  Type element = isIf ? p.builder.getI1Type() : p.builder.getI32Type();
  Known index = p.pickOfType(p.tensor({}, element));
  unsigned branches = isIf ? 2 : 1 + p.choices.below(3);
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<RankedTensorType> types;
  SmallVector<Bounds> ranges;
  for (unsigned branch = 0; branch < branches; ++branch)
    regions.push_back(p.region({}, [&](ValueRange) {
      p.addOps(3);
      // The first branch says what the results are.
      for (unsigned i = branch == 0 ? 1 + p.choices.below(2) : 0; i > 0; --i)
        if (auto known = p.pick([](const Known &) { return true; })) {
          types.push_back(known->type());
          ranges.push_back(known->range);
        }
      SmallVector<Value> yielded;
      for (auto [type, range] : llvm::zip_equal(types, ranges)) {
        Known known = p.pickOfType(type);
        yielded.push_back(known.value);
        range = branch == 0 ? known.range : either(range, known.range);
      }
      yield(p, yielded);
    }));
  if (types.empty())
    return false;
  Operation *made =
      p.op("shoal.case", index.value,
           SmallVector<Type>(types.begin(), types.end()), {}, regions);
  for (auto [result, range] : llvm::zip_equal(made->getResults(), ranges))
    p.add(result, range);
  return true;
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

static Value compare(ProgramBuilder &p, StringRef name, int64_t predicate,
                     Value a, Value b) {
  return p
      .op(name, {a, b},
          cast<ShapedType>(a.getType()).clone(p.builder.getI1Type()),
          p.builder.getNamedAttr("predicate",
                                 p.builder.getI64IntegerAttr(predicate)))
      ->getResult(0);
}

/// What a carried value may be in any trip: whole numbers within a bound.
static bool isCarried(const Known &known) {
  return known.isFloat() ? known.range.isWhole() && known.range.bound <= 64
                         : known.range.isExact();
}

static Bounds carriedRange(const Known &init) {
  if (!init.isFloat())
    return anyInteger(init.element());
  return {std::max(init.range.bound, 8.0), 0, 0};
}

/// Of the carried value's type and range, what the body makes of it.
static Known nextOf(ProgramBuilder &p, Known carried) {
  bool isFloat = carried.isFloat();
  Known next = p.pickOfType(carried.type(), [&](Bounds range) {
    return !isFloat || range.isWhole();
  });
  // Argument of the program, and whatever the pick let through.
  if (!isFloat || next.range.bound <= carried.range.bound)
    return next;
  Known high = p.constant(carried.type(), carried.range.bound);
  Known low = p.constant(carried.type(), -carried.range.bound);
  Value cut = p.op("arith.maximumf", {next.value, low.value}, carried.type())
                  ->getResult(0);
  cut = p.op("arith.minimumf", {cut, high.value}, carried.type())->getResult(0);
  return {cut, carried.range};
}

/// Counter below `trips`; now and then an element of a carried value decides,
/// too.
static void makeCondition(ProgramBuilder &p, ValueRange arguments,
                          Value trips) {
  Value more = compare(p, "arith.cmpi", /*slt*/ 2, arguments[0], trips);
  Value last = arguments.back();
  auto type = cast<RankedTensorType>(last.getType());
  if (arguments.size() > 1 && type.getNumElements() > 0 &&
      p.manualAxes.empty() && !p.isDifferentiable &&
      !type.getElementType().isInteger(1) && p.choices.chance(25)) {
    auto scalar = p.tensor({}, type.getElementType());
    auto dims = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
    Value largest =
        ReduceOp::create(p.builder, p.loc, scalar, ReduceKind::Max, last, dims);
    bool isFloat = isa<FloatType>(type.getElementType());
    Value below = compare(p, isFloat ? "arith.cmpf" : "arith.cmpi",
                          isFloat ? /*olt*/ 4 : /*slt*/ 2, largest,
                          p.constant(scalar, 7).value);
    more = p.op("arith.andi", {more, below}, more.getType())->getResult(0);
  }
  yield(p, more);
}

static bool makeWhile(ProgramBuilder &p) {
  if (p.depth() >= kMaxRegionDepth)
    return false;
  auto scalar = p.tensor({}, p.builder.getI32Type());
  Known zero = p.constant(scalar, 0), one = p.constant(scalar, 1);
  Value trips = p.constant(scalar, p.choices.below(4)).value;
  if (p.manualAxes.empty() && !p.isDifferentiable && p.choices.chance(30)) {
    Known three = p.constant(scalar, 3);
    trips =
        p.op("arith.andi", {p.pickOfType(scalar).value, three.value}, scalar)
            ->getResult(0);
  }
  SmallVector<Value> inits{zero.value};
  SmallVector<Type> types{scalar};
  SmallVector<Bounds> ranges{{3, 0, 0}};
  for (unsigned i = 1 + p.choices.below(2); i > 0; --i) {
    Known init = p.pickOr(
        isCarried, [&] { return p.tensor(p.shape(0, 3), p.elementType()); });
    inits.push_back(init.value);
    types.push_back(init.type());
    ranges.push_back(carriedRange(init));
  }
  SmallVector<std::unique_ptr<Region>> regions;
  regions.push_back(p.region(types, [&](ValueRange arguments) {
    makeCondition(p, arguments, trips);
  }));
  regions.push_back(p.region(types, [&](ValueRange arguments) {
    SmallVector<Known> carried;
    for (auto [argument, range] : llvm::zip_equal(arguments, ranges)) {
      carried.push_back({argument, range});
      p.add(argument, range);
    }
    p.addOps(4);
    SmallVector<Value> next{
        p.op("arith.addi", {arguments[0], one.value}, scalar)->getResult(0)};
    for (const Known &known : ArrayRef(carried).drop_front())
      next.push_back(nextOf(p, known).value);
    yield(p, next);
  }));
  Operation *made = p.op("shoal.while", inits, types, {}, regions);
  for (auto [result, range] : llvm::zip_equal(made->getResults(), ranges))
    p.add(result, range);
  return true;
}

//===----------------------------------------------------------------------===//
// Identities
//===----------------------------------------------------------------------===//

static bool makeBarrier(ProgramBuilder &p) {
  return p.addIdentity("shoal.optimization_barrier", p.anyValues(), {});
}

static bool makeCheckpointName(ProgramBuilder &p) {
  SmallVector<Known> values = p.anyValues();
  return p.addIdentity(
      "shoal.checkpoint_name", ArrayRef<Known>(values).take_front(1),
      {p.builder.getNamedAttr("label", p.builder.getStringAttr("a"))});
}

/// One that has no other end is removed, and all there is to it.
static bool makeRematBoundary(ProgramBuilder &p) {
  return p.addIdentity(
      "shoal.remat_boundary", p.anyValues(),
      {p.builder.getNamedAttr("region", p.builder.getI64IntegerAttr(0)),
       p.builder.getNamedAttr("policy", p.builder.getStringAttr("nothing"))});
}

void shoal::fuzz::addControlFlowGenerators(Generators &generators) {
  generators.add("shoal.case", makeCase, 6);
  generators.add("shoal.while", makeWhile, 8);
  generators.add("shoal.optimization_barrier", makeBarrier, 4);
  generators.add("shoal.remat_boundary", makeRematBoundary, 2);
  generators.add("shoal.checkpoint_name", makeCheckpointName, 2);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Terms.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

static bool isNumberOf(Term term, double value) {
  if (!term->isNumber())
    return false;
  if (auto number = dyn_cast<FloatAttr>(term->number))
    return number.getValueAsDouble() == value;
  return cast<IntegerAttr>(term->number).getValue() == int64_t(value);
}

Term Terms::convert(Term value, Type type) {
  if (value->type == type)
    return value;
  bool widens =
      value->type.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
  if (isa<FloatType>(type))
    return widens ? op<arith::ExtFOp>(type, {value})
                  : op<arith::TruncFOp>(type, {value});
  return widens ? op<arith::ExtSIOp>(type, {value})
                : op<arith::TruncIOp>(type, {value});
}

Term Terms::product(TermRange factors, Type type) {
  TermList kept;
  for (Term factor : factors) {
    if (isNumberOf(factor, 0))
      return zero(type);
    if (!isNumberOf(factor, 1))
      kept.push_back(factor);
  }
  if (kept.empty())
    return convert(factors.front(), type);
  if (kept.size() == 1)
    return convert(kept.front(), type);
  Type wide = getAccumulator(ReduceKind::Sum, type);
  Term result = convert(kept.front(), wide);
  for (Term factor : llvm::drop_begin(kept))
    result = isa<FloatType>(type)
                 ? op<arith::MulFOp>(wide, {result, convert(factor, wide)})
                 : op<arith::MulIOp>(wide, {result, convert(factor, wide)});
  return convert(result, type);
}

/// Factors without a bound index stand before the sum, unless that would round
/// twice.
Term Terms::sum(TermRange bound, TermRange factors, Type type) {
  TermList before, inside, over;
  bool rounds = getAccumulator(ReduceKind::Sum, type) != type;
  for (Term factor : factors) {
    if (isNumberOf(factor, 0))
      return zero(type);
    bool isBound = llvm::any_of(
        bound, [&](Term index) { return factor->dependsOn(index); });
    if (isBound || (rounds && !isNumberOf(factor, 1)))
      inside.push_back(factor);
    else if (!isNumberOf(factor, 1))
      before.push_back(factor);
  }
  double count = 1;
  for (Term index : bound) {
    if (llvm::any_of(inside, [&](Term f) { return f->dependsOn(index); }))
      over.push_back(index);
    else
      count *= double(index->size);
  }
  if (count != 1)
    before.push_back(
        number(isa<FloatType>(type)
                   ? TypedAttr(FloatAttr::get(type, count))
                   : TypedAttr(IntegerAttr::get(type, int64_t(count)))));
  if (!over.empty()) {
    TermNode node{TermKind::Sum, type};
    node.bound = over;
    node.operands = inside;
    before.push_back(intern(std::move(node)));
  } else {
    llvm::append_range(before, inside);
  }
  if (before.empty())
    before.push_back(convert(factors.front(), type));
  return product(before, type);
}

Term Terms::plus(Term a, Term b) {
  return isa<FloatType>(a->type)        ? op<arith::AddFOp>(a->type, {a, b})
         : a->type.isSignlessInteger(1) ? op<arith::OrIOp>(a->type, {a, b})
                                        : op<arith::AddIOp>(a->type, {a, b});
}

//===----------------------------------------------------------------------===//
// Integers and choices
//===----------------------------------------------------------------------===//

Term Terms::compare(arith::CmpIPredicate predicate, Term a, Term b) {
  auto attribute = arith::CmpIPredicateAttr::get(getContext(), predicate);
  return op<arith::CmpIOp>(
      builder.getI1Type(), {a, b},
      builder.getDictionaryAttr(builder.getNamedAttr("predicate", attribute)));
}

Term Terms::equal(Term a, Term b) {
  if (a == b)
    return boolean(true);
  if (areNeverEqual(a, b))
    return boolean(false);
  return compare(arith::CmpIPredicate::eq, a, b);
}

Term Terms::select(Term condition, Term a, Term b) {
  return a == b ? a : op<arith::SelectOp>(a->type, {condition, a, b});
}

Term Terms::add(Term a, Term b) { return op<arith::AddIOp>(a->type, {a, b}); }

Term Terms::subtract(Term a, Term b) {
  return op<arith::SubIOp>(a->type, {a, b});
}

Term Terms::conjunction(Term a, Term b) {
  return op<arith::AndIOp>(a->type, {a, b});
}

Term Terms::isInRange(Term place, int64_t size) {
  // As unsigned numbers the negative ones are the largest.
  return compare(arith::CmpIPredicate::ult, place, integer(size, place->type));
}

bool Terms::areNeverEqual(Term a, Term b) {
  auto rangeA = range(a), rangeB = range(b);
  if (rangeA && rangeB &&
      (rangeA->smax().slt(rangeB->smin()) ||
       rangeB->smax().slt(rangeA->smin())))
    return true;
  if (!a->isElement() || !b->isElement() || a->value != b->value)
    return false;
  auto model = a->value.getDefiningOp<ElementOpInterface>();
  if (!model)
    return false;
  int64_t distinct =
      model.getDistinctDim(cast<OpResult>(a->value).getResultNumber());
  for (auto [dim, at, other] : llvm::enumerate(a->operands, b->operands))
    if (int64_t(dim) != distinct && at != other)
      return false;
  return distinct >= 0 &&
         areNeverEqual(a->operands[distinct], b->operands[distinct]);
}

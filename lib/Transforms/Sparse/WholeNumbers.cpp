// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WholeNumbers.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

using Whole = std::optional<WholeRange>;

/// Integers up to this are wide enough for all products of two of them.
static constexpr int64_t kMost = int64_t(1) << 30;

/// The range, if numbers of the type are exact in it.
static Whole within(Whole range, Type type) {
  if (!range)
    return std::nullopt;
  int64_t most = kMost;
  if (auto real = dyn_cast<FloatType>(type))
    most = std::min(most, int64_t(1) << APFloat::semanticsPrecision(
                              real.getFloatSemantics()));
  return -most <= range->low && range->high <= most ? range : std::nullopt;
}

static Whole unite(Whole a, Whole b) {
  if (!a || !b)
    return std::nullopt;
  return WholeRange{std::min(a->low, b->low), std::max(a->high, b->high)};
}

static WholeRange multiply(WholeRange a, WholeRange b) {
  auto [low, high] = std::minmax(
      {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

/// The sum of none to `count` of them.
static Whole sumUpTo(int64_t count, Whole range) {
  if (!range || count > kMost)
    return std::nullopt;
  return multiply(WholeRange{0, count}, *range);
}

static Whole ofNumber(Term term) {
  auto number = dyn_cast<FloatAttr>(term->number);
  if (!number || !number.getValue().isInteger())
    return std::nullopt;
  double value = number.getValueAsDouble();
  if (std::abs(value) > double(kMost))
    return std::nullopt;
  return WholeRange{int64_t(value), int64_t(value)};
}

Whole WholeNumbers::ofForm(const Form &form, unsigned depth) const {
  Whole all = of(terms.number(form.background), depth);
  WholeRange sum = {0, 0};
  for (const Exception &exception : form.exceptions) {
    Whole value = of(exception.value, depth);
    all = unite(all, value);
    if (!all)
      return std::nullopt;
    sum.low += std::min<int64_t>(value->low, 0);
    sum.high += std::max<int64_t>(value->high, 0);
  }
  return form.isDistinct ? all : unite(all, sum);
}

Whole WholeNumbers::of(Value tensor, unsigned depth) const {
  if (const Form *form = forms.lookup(tensor))
    return within(ofForm(*form, depth), tensorType(tensor).getElementType());
  return of(terms.element(tensor, terms.indicesOf(tensor)), depth);
}

Whole WholeNumbers::ofElement(Term element, unsigned depth) const {
  Value tensor = element->value;
  if (auto op = tensor.getDefiningOp<CumulativeOp>()) {
    if (op.getKind() != ReduceKind::Sum)
      return std::nullopt;
    return sumUpTo(tensorType(tensor).getDimSize(op.getDim()),
                   of(op.getInput(), depth));
  }
  if (auto op = tensor.getDefiningOp<ReduceOp>();
      op && op.getKind() == ReduceKind::Sum) {
    int64_t count = 1;
    for (int64_t dim : op.getDims())
      count *= tensorType(op.getInput()).getDimSize(dim);
    return sumUpTo(count, of(op.getInput(), depth));
  }
  if (const Form *form = forms.lookup(tensor))
    return ofForm(*form, depth);
  const Rewrite *rewrite = forms.lookupRewrite(tensor);
  Term definition = rewrite && rewrite->term
                        ? terms.at(rewrite->term, tensor, element->operands)
                        : terms.definition(tensor, element->operands);
  return definition ? of(definition, depth) : std::nullopt;
}

Whole WholeNumbers::ofSum(Term sum, unsigned depth) const {
  int64_t count = 1;
  for (Term index : sum->bound)
    if (count *= index->size; count > kMost)
      return std::nullopt;
  Whole product = WholeRange{1, 1};
  for (Term factor : sum->operands) {
    Whole range = of(factor, depth);
    if (!range)
      return std::nullopt;
    product = within(multiply(*product, *range), sum->type);
    if (!product)
      return std::nullopt;
  }
  return sumUpTo(count, product);
}

Whole WholeNumbers::ofArithmetic(Term op, unsigned depth) const {
  if (op->operands.size() != 2)
    return std::nullopt;
  Whole a = of(op->operands[0], depth), b = of(op->operands[1], depth);
  if (!a || !b)
    return std::nullopt;
  if (isOp<arith::AddFOp>(op))
    return WholeRange{a->low + b->low, a->high + b->high};
  if (isOp<arith::SubFOp>(op))
    return WholeRange{a->low - b->high, a->high - b->low};
  if (isOp<arith::MulFOp>(op))
    return multiply(*a, *b);
  if (isOp<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return WholeRange{std::max(a->low, b->low), std::max(a->high, b->high)};
  if (isOp<arith::MinimumFOp, arith::MinNumFOp>(op))
    return WholeRange{std::min(a->low, b->low), std::min(a->high, b->high)};
  return std::nullopt;
}

Whole WholeNumbers::ofOp(Term op, unsigned depth) const {
  if (isOp<arith::SelectOp>(op))
    return unite(of(op->operands[1], depth), of(op->operands[2], depth));
  if (isOp<arith::SIToFPOp, arith::ExtFOp>(op))
    return of(op->operands[0], depth);
  if (isOp<arith::UIToFPOp>(op)) {
    if (op->operands[0]->type.isInteger(1))
      return WholeRange{0, 1};
    Whole range = of(op->operands[0], depth);
    return range && range->low >= 0 ? range : std::nullopt;
  }
  return ofArithmetic(op, depth);
}

/// Whether a < b, or a <= b, of all numbers of two ranges, or of none.
static std::optional<bool> isLess(double lowA, double highA, double lowB,
                                  double highB, bool orEqual) {
  if (orEqual ? highA <= lowB : highA < lowB)
    return true;
  if (orEqual ? lowA > highB : lowA >= highB)
    return false;
  return std::nullopt;
}

std::optional<bool> WholeNumbers::decide(Term comparison) const {
  if (comparison->isElement()) {
    Term definition = terms.definition(comparison->value, comparison->operands);
    return definition && !definition->isElement() ? decide(definition)
                                                  : std::nullopt;
  }
  if (!isOp<arith::CmpFOp>(comparison))
    return std::nullopt;
  double low[2] = {}, high[2] = {};
  for (auto [i, operand] : llvm::enumerate(comparison->operands)) {
    if (auto number = dyn_cast_or_null<FloatAttr>(operand->number)) {
      low[i] = high[i] = number.getValueAsDouble();
      if (std::isnan(low[i]))
        return std::nullopt;
    } else if (Whole range = of(operand)) {
      low[i] = double(range->low);
      high[i] = double(range->high);
    } else {
      return std::nullopt;
    }
  }
  bool isSame = comparison->operands[0] == comparison->operands[1];
  auto less = [&](unsigned a, bool orEqual) -> std::optional<bool> {
    if (isSame)
      return orEqual;
    return isLess(low[a], high[a], low[1 - a], high[1 - a], orEqual);
  };
  using Predicate = arith::CmpFPredicate;
  switch (
      cast<arith::CmpFPredicateAttr>(comparison->attributes.get("predicate"))
          .getValue()) {
  case Predicate::UNO:
    return false;
  case Predicate::ORD:
    return true;
  case Predicate::UNE:
  case Predicate::ONE:
    return isSame ? std::optional(false) : std::nullopt;
  case Predicate::OLT:
  case Predicate::ULT:
    return less(0, /*orEqual=*/false);
  case Predicate::OLE:
  case Predicate::ULE:
    return less(0, /*orEqual=*/true);
  case Predicate::OGT:
  case Predicate::UGT:
    return less(1, /*orEqual=*/false);
  case Predicate::OGE:
  case Predicate::UGE:
    return less(1, /*orEqual=*/true);
  default:
    return std::nullopt;
  }
}

Whole WholeNumbers::of(Term term, unsigned depth) const {
  constexpr unsigned kMaxDepth = 24;
  if (depth > kMaxDepth)
    return std::nullopt;
  if (isa<IntegerType>(term->type)) {
    auto range = terms.range(term);
    if (!range || range->smin().getSignificantBits() > 64 ||
        range->smax().getSignificantBits() > 64)
      return std::nullopt;
    return within(
        WholeRange{range->smin().getSExtValue(), range->smax().getSExtValue()},
        term->type);
  }
  switch (term->kind) {
  case TermKind::Number:
    return within(ofNumber(term), term->type);
  case TermKind::Element:
    return within(ofElement(term, depth + 1), term->type);
  case TermKind::Op:
    return within(ofOp(term, depth + 1), term->type);
  case TermKind::Sum:
    return within(ofSum(term, depth + 1), term->type);
  case TermKind::Index:
    return std::nullopt; // an integer
  }
  return std::nullopt;
}

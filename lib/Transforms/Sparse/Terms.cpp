// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Terms.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

//===----------------------------------------------------------------------===//
// Interning
//===----------------------------------------------------------------------===//

static llvm::hash_code hashOf(const TermNode &node) {
  return llvm::hash_combine(
      unsigned(node.kind), node.type, node.id, node.size,
      Attribute(node.number), node.value,
      node.name ? node.name->getAsOpaquePointer() : nullptr,
      Attribute(node.attributes), llvm::hash_combine_range(node.operands),
      llvm::hash_combine_range(node.bound));
}

static bool isSame(const TermNode &a, const TermNode &b) {
  return a.kind == b.kind && a.type == b.type && a.id == b.id &&
         a.size == b.size && a.number == b.number && a.value == b.value &&
         a.name == b.name && a.attributes == b.attributes &&
         a.operands == b.operands && a.bound == b.bound;
}

Term Terms::intern(TermNode node) {
  SmallVector<Term, 1> &same = interned[size_t(hashOf(node))];
  for (Term known : same)
    if (isSame(*known, node))
      return known;
  for (Term operand : node.operands) {
    node.depth = std::max(node.depth, operand->depth + 1);
    node.isClosed &= operand->isClosed;
    for (Term index : operand->free)
      if (!llvm::is_contained(node.bound, index) &&
          !llvm::is_contained(node.free, index))
        node.free.push_back(index);
  }
  llvm::sort(node.free, [](Term a, Term b) {
    return std::pair(a->id, a->size) < std::pair(b->id, b->size);
  });
  nodes.push_back(std::move(node));
  Term term = &nodes.back();
  if (term->isIndex())
    nodes.back().free = {term};
  same.push_back(term);
  return term;
}

Term Terms::index(int64_t id, int64_t size) {
  TermNode node{TermKind::Index, builder.getI32Type()};
  node.id = id, node.size = size;
  return intern(std::move(node));
}

TermList Terms::indicesOf(Value tensor) {
  TermList indices;
  for (auto [dim, size] : llvm::enumerate(tensorType(tensor).getShape()))
    indices.push_back(index(dim, size));
  return indices;
}

Term Terms::number(TypedAttr number) {
  TermNode node{TermKind::Number, number.getType()};
  node.number = number;
  return intern(std::move(node));
}

Term Terms::integer(int64_t value, Type type) {
  return number(
      builder.getIntegerAttr(type ? type : builder.getI32Type(), value));
}

Term Terms::opaqueElement(Value tensor, TermRange index) {
  TermNode node{TermKind::Element, tensorType(tensor).getElementType()};
  node.value = tensor;
  node.operands = TermList(index);
  node.isClosed = false;
  return intern(std::move(node));
}

Term Terms::element(Value tensor, TermRange index) {
  bool isAlias = define(tensor).isAlias;
  if (isAlias)
    return definition(tensor, index);
  // One of several operands, which only a number can tell.
  bool isRow = llvm::any_of(index, [](Term at) { return at->isNumber(); });
  auto model = tensor.getDefiningOp<ElementOpInterface>();
  if (isRow && model && !define(tensor).term)
    if (Term row = model.getElement(
            *this, cast<OpResult>(tensor).getResultNumber(), index))
      return row;
  return opaqueElement(tensor, index);
}

Term Terms::op(OperationName name, DictionaryAttr attributes, Type type,
               TermRange operands) {
  TermNode node{TermKind::Op, type};
  node.name = name;
  node.attributes = attributes;
  node.operands = TermList(operands);
  if (Term folded = fold(node))
    return folded;
  Term term = intern(std::move(node));
  Term constant = foldByRange(term);
  return constant ? constant : term;
}

Term Terms::op(Operation *like, TermRange operands) {
  return op(like->getName(), like->getAttrDictionary(),
            getElementTypeOrSelf(like->getResult(0).getType()), operands);
}

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

//===----------------------------------------------------------------------===//
// Substitution
//===----------------------------------------------------------------------===//

Term Terms::substitute(Term term, const Substitution &substitution) {
  Substitution done;
  return substitute(term, substitution, done);
}

Term Terms::substitute(Term term, const Substitution &substitution,
                       Substitution &done) {
  if (Term known = substitution.lookup(term))
    return known;
  if (llvm::none_of(term->free,
                    [&](Term index) { return substitution.contains(index); }))
    return term;
  if (Term known = done.lookup(term))
    return known;
  TermList operands;
  for (Term operand : term->operands)
    operands.push_back(substitute(operand, substitution, done));
  Term result = term;
  if (term->isElement())
    result = opaqueElement(term->value, operands);
  else if (term->kind == TermKind::Op)
    result = op(*term->name, term->attributes, term->type, operands);
  else if (term->kind == TermKind::Sum)
    result = sum(term->bound, operands, term->type);
  return done[term] = result;
}

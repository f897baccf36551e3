// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Terms.h"
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

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Stack.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

/// first, first + step, first + 2 step ...
static Term stackIntegers(Terms &terms, TermRange list, Term index) {
  auto valueOf = [](Term term) {
    return cast<IntegerAttr>(term->number).getValue().getSExtValue();
  };
  if (!isa<IntegerType>(list[0]->type) ||
      list[0]->type.getIntOrFloatBitWidth() < 32)
    return nullptr;
  int64_t first = valueOf(list[0]), step = valueOf(list[1]) - first;
  for (auto [i, term] : llvm::enumerate(list))
    if (valueOf(term) != first + int64_t(i) * step)
      return nullptr;
  Type type = list[0]->type;
  Term place = terms.convert(index, type);
  if (step != 1)
    place = terms.op<arith::MulIOp>(type, {place, terms.integer(step, type)});
  return first == 0 ? place : terms.add(place, terms.integer(first, type));
}

/// Whether they are the same but for their operands.
static bool areAlike(Term a, Term b) {
  return a->kind == b->kind && a->type == b->type && a->value == b->value &&
         a->name == b->name && a->attributes == b->attributes &&
         a->bound == b->bound && a->operands.size() == b->operands.size();
}

Term sparse::stack(Terms &terms, TermRange list, Term index) {
  Term first = list.front();
  if (llvm::all_equal(list))
    return first;
  auto isLikeFirst = [&](Term term) { return areAlike(first, term); };
  if (first->isIndex() || !llvm::all_of(list, isLikeFirst))
    return nullptr;
  if (first->isNumber())
    return stackIntegers(terms, list, index);
  TermList operands;
  for (size_t k = 0; k < first->operands.size(); ++k) {
    auto column = llvm::map_to_vector<8>(
        list, [&](Term term) { return term->operands[k]; });
    Term operand = stack(terms, column, index);
    if (!operand)
      return nullptr;
    operands.push_back(operand);
  }
  switch (first->kind) {
  case TermKind::Element:
    return terms.opaqueElement(first->value, operands);
  case TermKind::Op:
    return terms.op(*first->name, first->attributes, first->type, operands);
  case TermKind::Sum:
    return terms.sum(first->bound, operands, first->type);
  case TermKind::Index:
  case TermKind::Number:
    return nullptr;
  }
  return nullptr;
}

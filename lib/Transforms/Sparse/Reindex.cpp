// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Views of forms: L11.

#include "Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

namespace {

/// Where a place of the operand is in the result: the index there, or none if
/// the view keeps one row of the dimension.
struct Target {
  Term mapped;
  Term index = nullptr;
};

} // namespace

/// The one index of the result on which `mapped` depends, and no other entry of
/// `map` does.
static std::optional<Target> findTarget(Term mapped, TermRange map,
                                        TermRange indices) {
  Target target{mapped};
  for (Term index : indices) {
    if (!mapped->dependsOn(index))
      continue;
    auto readers = llvm::count_if(
        map, [&](Term other) { return other->dependsOn(index); });
    if (target.index || readers > 1)
      return std::nullopt;
    target.index = index;
  }
  return target;
}

Outcome Forms::reindex(const Form &form, TermRange map, Value result) {
  TermList indices = terms.indicesOf(result);
  SmallVector<Target, 2> targets;
  for (Term dim : form.dims) {
    auto target = findTarget(map[dim->id], map, indices);
    if (!target)
      return "places move with other indices";
    targets.push_back(*target);
  }
  Substitution dense;
  for (const Exception &exception : form.exceptions) {
    auto add = [&](Term term) {
      for (Term index : term->free)
        if (index->id < int64_t(map.size()))
          dense[index] = map[index->id];
    };
    llvm::for_each(exception.places, add);
    add(exception.value);
  }
  Form moved = substitute(terms, form, dense), view;
  view.background = form.background;
  view.isDistinct = form.isDistinct;
  for (const Target &target : targets)
    if (target.index)
      view.dims.push_back(target.index);
  auto byId = [](Term a, Term b) { return a->id < b->id; };
  llvm::sort(view.dims, byId);
  if (view.dims.empty())
    return "no dimension with places is left";
  for (const Exception &exception : moved.exceptions) {
    Exception kept;
    kept.places.resize(view.dims.size());
    kept.value = exception.value;
    Term isKept = terms.boolean(true);
    for (auto [target, place] : llvm::zip_equal(targets, exception.places)) {
      if (!target.index) {
        isKept = terms.conjunction(isKept, terms.equal(place, target.mapped));
        continue;
      }
      Term there = terms.solve(target.mapped, target.index, place);
      if (!there)
        return "places move in a way that is not understood";
      kept.places[llvm::find(view.dims, target.index) - view.dims.begin()] =
          there;
    }
    if (placesDependOn({view.dims, {kept}, view.background}, view.dims))
      return "places depend on each other";
    if (isKept == terms.boolean(false))
      continue;
    restrictTo(terms, kept, isKept);
    view.exceptions.push_back(std::move(kept));
  }
  return view;
}

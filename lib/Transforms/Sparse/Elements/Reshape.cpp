// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Forms.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

/// Dimensions of the operand that become dimensions of the result, the fewest
/// that can be told apart. Those of one row may be in any group.
struct Group {
  SmallVector<int64_t, 2> from, to;
};

SmallVector<Group> groupDims(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<Group> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    Group group;
    int64_t rows = 1, others = 1;
    auto takeFrom = [&] {
      rows *= from[i];
      group.from.push_back(i++);
    };
    auto takeTo = [&] {
      others *= to[j];
      group.to.push_back(j++);
    };
    if (i < from.size())
      takeFrom();
    if (j < to.size())
      takeTo();
    while (rows != others && (i < from.size() || j < to.size()))
      rows < others &&i < from.size() ? takeFrom()
      : j < to.size()                 ? takeTo()
                                      : takeFrom();
    // Rows of one that follow belong to the group before them.
    while (i < from.size() && from[i] == 1)
      takeFrom();
    while (j < to.size() && to[j] == 1)
      takeTo();
    groups.push_back(std::move(group));
  }
  return groups;
}

SmallVector<int64_t, 2> withoutUnits(ArrayRef<int64_t> dims,
                                     ArrayRef<int64_t> shape) {
  return llvm::to_vector<2>(llvm::make_filter_range(
      dims, [&](int64_t dim) { return shape[dim] != 1; }));
}

SmallVector<int64_t, 2> unitsOf(ArrayRef<int64_t> dims,
                                ArrayRef<int64_t> shape) {
  return llvm::to_vector<2>(llvm::make_filter_range(
      dims, [&](int64_t dim) { return shape[dim] == 1; }));
}

/// The index of a row among all rows of these dimensions.
Term join(Terms &terms, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
          llvm::function_ref<Term(int64_t)> place) {
  Term joined = nullptr;
  for (int64_t dim : dims) {
    Term own = place(dim);
    joined =
        joined ? terms.add(terms.op<arith::MulIOp>(
                               own->type, {joined, terms.integer(shape[dim])}),
                           own)
               : own;
  }
  return joined;
}

/// The inverse: each dimension's index.
void split(Terms &terms, Term joined, ArrayRef<int64_t> dims,
           ArrayRef<int64_t> shape,
           llvm::function_ref<void(int64_t, Term)> set) {
  for (auto [i, dim] : llvm::enumerate(llvm::reverse(dims))) {
    Term size = terms.integer(shape[dim]);
    bool isFirst = i + 1 == dims.size();
    set(dim, isFirst ? joined
                     : terms.op<arith::RemUIOp>(joined->type, {joined, size}));
    if (!isFirst)
      joined = terms.op<arith::DivUIOp>(joined->type, {joined, size});
  }
}

struct Reshape : ElementOpInterface::ExternalModel<Reshape, ReshapeOp> {
  std::optional<TermList> mapIndex(Operation *op, Terms &terms,
                                   TermRange index) const {
    auto reshape = cast<ReshapeOp>(op);
    ArrayRef<int64_t> from = tensorType(reshape.getInput()).getShape();
    ArrayRef<int64_t> to = tensorType(reshape.getResult()).getShape();
    if (llvm::is_contained(from, 0))
      return std::nullopt;
    TermList map(from.size(), terms.integer(0));
    for (const Group &group : groupDims(from, to)) {
      SmallVector<int64_t, 2> source = withoutUnits(group.from, from);
      Term joined = join(terms, withoutUnits(group.to, to), to,
                         [&](int64_t dim) { return index[dim]; });
      for (auto [one, other] :
           llvm::zip(unitsOf(group.from, from), unitsOf(group.to, to)))
        map[one] = index[other];
      if (joined)
        split(terms, joined, source, from,
              [&](int64_t dim, Term place) { map[dim] = place; });
    }
    return map;
  }

  Outcome getForm(Operation *op, Forms &forms) const;
};

/// What becomes of the places of an exception.
struct PlacesOfGroup {
  Terms &terms;
  ArrayRef<int64_t> from, to;
  const Form &form;
  const Group &group;

  bool isPlace(int64_t dim) const {
    return llvm::any_of(form.dims, [&](Term d) { return d->id == dim; });
  }
  Term placeOf(const Exception &exception, int64_t dim) const {
    const auto *found =
        llvm::find_if(form.dims, [&](Term d) { return d->id == dim; });
    return exception.places[found - form.dims.begin()];
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

/// Dimensions with places merge and split among themselves.
Outcome Reshape::getForm(Operation *op, Forms &forms) const {
  auto reshape = cast<ReshapeOp>(op);
  const Form *form = forms.lookup(reshape.getInput());
  if (!form)
    return {};
  Terms &terms = forms.terms;
  ArrayRef<int64_t> from = tensorType(reshape.getInput()).getShape();
  ArrayRef<int64_t> to = tensorType(reshape.getResult()).getShape();
  TermList fromIndex = terms.indicesOf(reshape.getInput()),
           toIndex = terms.indicesOf(reshape.getResult());
  auto map = mapIndex(op, terms, toIndex);
  if (!map)
    return "it has no elements";
  Substitution dense;
  for (auto [dim, mapped] : llvm::enumerate(*map))
    dense[fromIndex[dim]] = mapped;
  Form moved = substitute(terms, *form, dense), result = moved;
  result.dims.clear();
  for (Exception &exception : result.exceptions)
    exception.places.clear();
  SmallVector<Term> conditions(form->exceptions.size(), terms.boolean(true));
  for (const Group &group : groupDims(from, to)) {
    PlacesOfGroup places{terms, from, to, moved, group};
    auto source = withoutUnits(group.from, from);
    auto target = withoutUnits(group.to, to);
    for (int64_t dim : group.from)
      if (from[dim] == 1 && places.isPlace(dim))
        for (auto [t, exception] : llvm::enumerate(moved.exceptions))
          conditions[t] = terms.conjunction(
              conditions[t],
              terms.equal(places.placeOf(exception, dim), terms.integer(0)));
    int64_t count = llvm::count_if(
        source, [&](int64_t dim) { return places.isPlace(dim); });
    if (count == 0)
      continue;
    if (count != int64_t(source.size()))
      return "a dimension with places merges with one without";
    for (int64_t dim : target)
      result.dims.push_back(toIndex[dim]);
    for (auto [t, exception] : llvm::enumerate(moved.exceptions)) {
      // Joined places could be in range where their parts are not.
      if (source.size() > 1 || target.size() > 1)
        for (int64_t dim : source)
          conditions[t] = terms.conjunction(
              conditions[t],
              terms.isInRange(places.placeOf(exception, dim), from[dim]));
      Term joined = join(terms, source, from, [&](int64_t dim) {
        return places.placeOf(exception, dim);
      });
      TermList own(to.size());
      split(terms, joined, target, to,
            [&](int64_t dim, Term place) { own[dim] = place; });
      for (int64_t dim : target)
        result.exceptions[t].places.push_back(own[dim]);
    }
  }
  if (result.dims.empty())
    return "no dimension with places is left";
  for (auto [exception, condition] :
       llvm::zip_equal(result.exceptions, conditions))
    restrictTo(terms, exception, condition);
  return result;
}

void shoal::registerReshapeElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ReshapeOp::attachInterface<Reshape>(*context);
  });
}

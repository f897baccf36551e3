// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tensors that a scatter makes of a number: a few elements of each line (L12).

#include "../Forms.h"
#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Support/Threshold.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

// Models replace the interface's defaults.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
namespace {

/// As many updates of a line are written out one by one.
const support::Threshold manyUpdates("updates of a mask's line, one by one",
                                     17);

/// The scatter as a form: each index of the updates is that of a dimension of
/// the result, which every row has once, or one of a few that are written out.
class PlacedUpdates {
public:
  PlacedUpdates(ScatterOp op, Forms &forms)
      : op(op), forms(forms), terms(forms.terms),
        to(terms.indicesOf(op.getResult())) {}

  Outcome run();

private:
  bool mapDims();
  Term columnAt(int64_t column);
  bool isRowOf(Term column, Term dim);
  Outcome writeOut(TypedAttr background);

  ScatterOp op;
  Forms &forms;
  Terms &terms;
  /// Indices of the result, of all updates, and of the latter those that are
  /// told apart by indices.
  TermList to, updates, lines;
  /// What indices of the updates are by those of the result.
  Substitution known;
  /// Dimensions with places, and these.
  Exception exception;
  TermList dims;
};

struct Scatter : ElementOpInterface::ExternalModel<Scatter, ScatterOp> {
  Outcome getForm(Operation *op, Forms &forms) const {
    return PlacedUpdates(cast<ScatterOp>(op), forms).run();
  }
};

} // namespace
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

/// The index of a line's entry `column`, as a place.
Term PlacedUpdates::columnAt(int64_t column) {
  TermList at = lines;
  if (int64_t(op.getIndexVectorDim()) < tensorType(op.getIndices()).getRank())
    at.insert(at.begin() + op.getIndexVectorDim(), terms.integer(column));
  Term place = terms.element(op.getIndices(), at);
  int64_t size = to[op.getScatterDimsToOperandDims()[column]]->size;
  Term narrow = terms.convert(place, to.front()->type);
  return place->type.getIntOrFloatBitWidth() > 32
             ? terms.select(terms.isInRange(place, size), narrow,
                            terms.integer(-1))
             : narrow;
}

/// Whether the column counts the rows of the dimension.
bool PlacedUpdates::isRowOf(Term column, Term dim) {
  for (Term line : lines)
    if (column == line && line->size == dim->size && !known.contains(line)) {
      known[line] = dim;
      return true;
    }
  return false;
}

/// False where a window is a part of its dimension, or moves.
bool PlacedUpdates::mapDims() {
  for (auto [dim, size] :
       llvm::enumerate(tensorType(op.getUpdates()).getShape())) {
    updates.push_back(terms.freshIndex(size));
    if (!llvm::is_contained(op.getUpdateWindowDims(), int64_t(dim)))
      lines.push_back(updates.back());
  }
  const auto *window = op.getUpdateWindowDims().begin();
  for (Term dim : to) {
    const auto *batch = llvm::find(op.getInputBatchingDims(), dim->id);
    if (batch != op.getInputBatchingDims().end()) {
      int64_t from =
          op.getScatterIndicesBatchingDims()[batch -
                                             op.getInputBatchingDims().begin()];
      known[lines[from - (from > int64_t(op.getIndexVectorDim()))]] = dim;
    } else if (!llvm::is_contained(op.getInsertedWindowDims(), dim->id)) {
      Term own = updates[*window++];
      if (own->size != dim->size ||
          llvm::is_contained(op.getScatterDimsToOperandDims(), dim->id))
        return false;
      known[own] = dim;
    }
  }
  SmallVector<std::pair<Term, Term>> places;
  for (auto [column, dim] : llvm::enumerate(op.getScatterDimsToOperandDims()))
    if (Term place = columnAt(int64_t(column)); !isRowOf(place, to[dim]))
      places.push_back({to[dim], place});
  llvm::sort(places,
             [](auto &a, auto &b) { return a.first->id < b.first->id; });
  for (auto [dim, place] : places) {
    dims.push_back(dim);
    exception.places.push_back(place);
  }
  return !dims.empty();
}

/// The last update of a place comes first, and stays.
Outcome PlacedUpdates::writeOut(TypedAttr background) {
  SmallVector<Form, 0> lists = {Form{dims, {exception}, background}};
  for (Term line : lines) {
    if (known.contains(line))
      continue;
    if (manyUpdates.isReachedBy(int64_t(lists.size()) * line->size))
      return "more than 16 updates of a line";
    SmallVector<Form, 0> longer;
    for (const Form &list : lists)
      for (int64_t i = line->size; i-- > 0;)
        longer.push_back(substitute(terms, list, {{line, terms.integer(i)}}));
    lists = std::move(longer);
  }
  for (Form &list : lists) {
    list = substitute(terms, list, known);
    if (placesDependOn(list, dims))
      return "places depend on each other";
  }
  return forms.unite(
      llvm::map_to_vector(lists, [](const Form &list) { return &list; }));
}

Outcome PlacedUpdates::run() {
  Term background = terms.element(op.getInput(), to);
  // Sums of those that meet would need their order.
  if (op.getKind() || !background->isNumber() || to.empty() || !mapDims())
    return {};
  exception.value = terms.element(op.getUpdates(), updates);
  Outcome outcome = writeOut(background->number);
  // Values that stand where there is a place know its dimensions' indices.
  if (outcome.form && llvm::any_of(outcome.form->exceptions, [&](auto &other) {
        return llvm::any_of(
            dims, [&](Term dim) { return other.value->dependsOn(dim); });
      }))
    return "values depend on places";
  return outcome;
}

void shoal::registerIndexingScatterElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ScatterOp::attachInterface<Scatter>(*context);
  });
}

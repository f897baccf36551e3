// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Relaxation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace shoal;
using namespace shoal::assignment;

//===----------------------------------------------------------------------===//
// Building it
//===----------------------------------------------------------------------===//

void Relaxation::addEdges(unsigned op) {
  auto &list = edgesOfOp.emplace_back();
  EdgesOf own(tables.problem.ops[op]);
  for (auto [place, value] : llvm::enumerate(own.values)) {
    bool isMade = place >= own.numOperands;
    auto &ofValue = values[value].edges;
    ofValue.insert(isMade ? ofValue.begin() : ofValue.end(), edges.size());
    list.push_back(edges.size());
    auto isBehind = [&](unsigned other) { return other > value; };
    auto isBefore = [&](unsigned other) { return other < value; };
    Edge edge{op,
              value,
              unsigned(place),
              0,
              llvm::any_of(own.values, isBehind),
              llvm::any_of(own.values, isBefore),
              {}};
    edge.price.assign(layoutsOf(edge).size(), 0);
    edges.push_back(std::move(edge));
  }
}

void Relaxation::addCosts(unsigned value) {
  llvm::ArrayRef<unsigned> ids = values[value].edges;
  if (ids.empty())
    return;
  std::vector<LayoutId> key = {tables.valueClassOf(value),
                               unsigned(reshardPrice)};
  llvm::SmallVector<llvm::ArrayRef<NeededLayouts>> needed;
  for (auto [place, id] : llvm::enumerate(ids)) {
    edges[id].placeOfValue = place;
    needed.push_back(layoutsOf(edges[id]));
    key.push_back(~0u);
    for (const NeededLayouts &layouts : needed.back()) {
      key.push_back(layouts.size());
      llvm::append_range(key, layouts);
    }
  }
  auto found = known.find(key);
  if (found == known.end()) {
    auto made = llvm::map_to_vector(
        needed[0], [](const NeededLayouts &layouts) { return layouts[0]; });
    found = known
                .try_emplace(std::move(key), tables, reshardPrice, value, made,
                             llvm::ArrayRef(needed).drop_front())
                .first;
  }
  values[value].costs = &found->second;
}

Relaxation::Relaxation(CostTables &tables, AllChoices given, ReshardPrice price,
                       KnownVersionCosts &known, double tooDear)
    : tables(tables), reshardPrice(price), known(known), tooDear(tooDear),
      choices(std::move(given)), values(tables.problem.values.size()) {
  for (unsigned op = 0; op < choices.size(); ++op)
    addEdges(op);
  for (unsigned value = 0; value < values.size(); ++value)
    addCosts(value);
  for (unsigned op = 0; op < choices.size(); ++op)
    costs.push_back(costsOf(op));
}

Relaxation::Relaxation(const Relaxation &other, AllChoices left,
                       ReshardPrice price)
    : tables(other.tables), reshardPrice(price), known(other.known),
      tooDear(other.tooDear), choices(std::move(left)), edges(other.edges),
      edgesOfOp(other.edgesOfOp), costs(other.costs), values(other.values) {
  std::vector<bool> isChanged(values.size(), price != other.reshardPrice);
  for (unsigned op = 0; op < choices.size(); ++op) {
    if (choices[op] == other.choices[op])
      continue;
    for (unsigned id : edgesOfOp[op]) {
      Edge &edge = edges[id];
      const Costs &before = other.edges[id].price;
      llvm::ArrayRef<uint16_t> places = choices[op]->places[edge.place];
      if (places.size() == before.size())
        continue;
      isChanged[edge.value] = true;
      edge.price.clear();
      for (uint16_t place : places)
        edge.price.push_back(before[place]);
    }
    costs[op] = costsOf(op);
  }
  for (unsigned value = 0; value < values.size(); ++value)
    if (isChanged[value])
      addCosts(value);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Costs Relaxation::costsOf(unsigned op) const {
  Costs costs;
  costs.reserve(choices[op]->options.size());
  for (const OpOption &option : choices[op]->options)
    costs.push_back(option.cost);
  for (auto [id, column] : llvm::zip_equal(edgesOfOp[op], choices[op]->columns))
    for (auto [cost, layout] : llvm::zip_equal(costs, column))
      cost += edges[id].price[layout];
  return costs;
}

/// What is infinite is of a layout that no plan gets to or from: the op is told
/// that it is too dear, by no more than that: digits are lost in what is moved
/// to and fro.
void Relaxation::addToPrice(Edge &edge, llvm::ArrayRef<double> more,
                            double part) {
  change.resize(edge.price.size());
  for (auto [price, own, cost] : llvm::zip_equal(edge.price, change, more)) {
    own = part * std::min(cost, tooDear);
    price += own;
  }
  for (auto [cost, layout] :
       llvm::zip_equal(costs[edge.op], choices[edge.op]->columns[edge.place]))
    cost += change[layout];
}

/// The value takes what the op knows of its layouts.
void Relaxation::takeMarginal(Edge &edge) {
  Costs &ofOp = costs[edge.op];
  llvm::ArrayRef<uint16_t> column = choices[edge.op]->columns[edge.place];
  Costs &marginal = change;
  marginal.assign(edge.price.size(), kInfinite);
  for (size_t i = 0; i < column.size(); ++i)
    marginal[column[i]] = std::min(marginal[column[i]], ofOp[i]);
  for (size_t i = 0; i < column.size(); ++i)
    if (marginal[column[i]] < kInfinite)
      ofOp[i] -= marginal[column[i]];
  for (auto [price, own] : llvm::zip_equal(edge.price, marginal))
    if (own < kInfinite)
      price -= own;
}

void Relaxation::onTopOf(const ValueFactor &value,
                         std::vector<Costs> &onTop) const {
  onTop.resize(value.edges.size());
  for (auto [edge, own] : llvm::zip_equal(value.edges, onTop)) {
    own.resize(edges[edge].price.size());
    llvm::transform(edges[edge].price, own.begin(), std::negate<double>());
  }
}

void Relaxation::visit(unsigned value, bool forward) {
  const ValueFactor &own = values[value];
  auto goesOn = [&](const Edge &edge) {
    return forward ? edge.goesForward : edge.goesBackward;
  };
  size_t before = 0, behind = 0;
  unsigned asked = 0;
  for (unsigned id : own.edges) {
    Edge &edge = edges[id];
    takeMarginal(edge);
    before += edge.goesBackward;
    behind += edge.goesForward;
    if (goesOn(edge))
      asked |=
          edge.placeOfValue == 0 ? VersionCosts::Maker : VersionCosts::Users;
  }
  if (asked == 0)
    return;
  double part = 1.0 / std::max(before, behind);
  onTopOf(own, onTop);
  own.costs->findMarginals(onTop, VersionCosts::Side(asked), least);
  for (auto [id, more] : llvm::zip_equal(own.edges, least))
    if (goesOn(edges[id]))
      addToPrice(edges[id], more, part);
}

void Relaxation::sweep() {
  for (unsigned value = 0; value < values.size(); ++value)
    visit(value, /*forward=*/true);
  for (unsigned value = values.size(); value-- > 0;)
    visit(value, /*forward=*/false);
}

static double leastOf(llvm::ArrayRef<double> costs) {
  return *llvm::min_element(costs);
}

/// From costs without the rounding of many sweeps.
Relaxation::Marginals Relaxation::findMarginals() {
  Marginals found;
  for (unsigned op = 0; op < choices.size(); ++op) {
    costs[op] = costsOf(op);
    found.bound += leastOf(costs[op]);
  }
  for (const ValueFactor &value : values) {
    auto &own = found.ofValues.emplace_back();
    if (!value.costs)
      continue;
    onTopOf(value, onTop);
    value.costs->findMarginals(onTop, VersionCosts::All, own);
    found.bound += leastOf(own[0]);
  }
  return found;
}

/// What each of an op's choices costs more than the cheapest, with what its
/// values know: a plan with one costs as much more than the bound, at least.
Costs Relaxation::excessOf(unsigned op,
                           llvm::ArrayRef<std::vector<Costs>> known) const {
  Costs excess = costs[op];
  double least = leastOf(excess);
  for (auto [place, id] : llvm::enumerate(edgesOfOp[op])) {
    const Edge &edge = edges[id];
    // A value that the op makes and reads knows of one of both.
    if (llvm::any_of(
            llvm::ArrayRef(edgesOfOp[op]).take_front(place),
            [&](unsigned other) { return edges[other].value == edge.value; }))
      continue;
    const Costs &own = known[edge.value][edge.placeOfValue];
    least += leastOf(own);
    for (auto [cost, layout] :
         llvm::zip_equal(excess, choices[op]->columns[place]))
      cost += own[layout];
  }
  for (double &cost : excess)
    cost -= least;
  return excess;
}

AllChoices Relaxation::choicesWithin(double known,
                                     const Marginals &marginals) const {
  double most = known - marginals.bound;
  std::map<std::pair<const OpChoices *, std::vector<bool>>,
           std::shared_ptr<const OpChoices>>
      kept;
  AllChoices all;
  for (unsigned op = 0; op < choices.size(); ++op) {
    Costs excess = excessOf(op, marginals.ofValues);
    // Rounding leaves no op without.
    double limit = std::max(most, leastOf(excess));
    std::vector<bool> keeps;
    for (double own : excess)
      keeps.push_back(own <= limit);
    auto &found = kept[{choices[op].get(), keeps}];
    if (!found)
      found = keepChoices(choices[op],
                          [&](size_t option) { return keeps[option]; });
    all.push_back(found);
  }
  return all;
}

/// In the order of ops each its cheapest, what earlier ones chose being so.
std::vector<ChoiceIndex> Relaxation::decode() const {
  std::vector<std::vector<Costs>> onTop(values.size());
  for (auto [value, own] : llvm::zip_equal(values, onTop))
    onTopOf(value, own);
  std::vector<Costs> least;
  std::vector<ChoiceIndex> chosen;
  for (unsigned op = 0; op < choices.size(); ++op) {
    Costs all = costs[op];
    for (auto [place, id] : llvm::enumerate(edgesOfOp[op])) {
      const Edge &edge = edges[id];
      values[edge.value].costs->findMarginals(
          onTop[edge.value],
          edge.placeOfValue == 0 ? VersionCosts::Maker : VersionCosts::Users,
          least);
      for (auto [cost, layout] :
           llvm::zip_equal(all, choices[op]->columns[place]))
        cost += least[edge.placeOfValue][layout];
    }
    const OpOption &best =
        choices[op]->options[llvm::min_element(all) - all.begin()];
    chosen.push_back(best.choice);
    for (auto [id, layout] : llvm::zip_equal(edgesOfOp[op], best.layouts)) {
      const Edge &edge = edges[id];
      Costs &own = onTop[edge.value][edge.placeOfValue];
      double price = own[layout];
      llvm::fill(own, kInfinite);
      own[layout] = price;
    }
  }
  return chosen;
}

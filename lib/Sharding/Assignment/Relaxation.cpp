// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Relaxation.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

static constexpr ChoiceIndex kMostChoices = 1 << 16;

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

EdgesOf::EdgesOf(const AssignmentProblem::Op &op) {
  for (unsigned value : op.operands) {
    auto *found = llvm::find(values, value);
    edgeOf.push_back(found - values.begin());
    if (found == values.end())
      values.push_back(value);
  }
  numOperands = values.size();
  for (unsigned value : op.results) {
    edgeOf.push_back(values.size());
    values.push_back(value);
  }
}

void OpChoices::add(const Choice &choice, ChoiceIndex index,
                    const EdgesOf &edges) {
  std::vector<NeededLayouts> own(layouts.size());
  for (auto [edge, layout] : llvm::zip_equal(
           edges.edgeOf,
           llvm::concat<const LayoutId>(choice.operands, choice.results)))
    if (!llvm::is_contained(own[edge], layout))
      own[edge].push_back(layout);
  OpOption option{{}, choice.cost(), index};
  for (auto [known, needed] : llvm::zip_equal(layouts, own)) {
    llvm::sort(needed);
    auto found = llvm::find(known, needed);
    option.layouts.push_back(found - known.begin());
    if (found == known.end())
      known.push_back(std::move(needed));
  }
  options.push_back(std::move(option));
}

std::shared_ptr<const OpChoices> OpChoices::finish() && {
  for (auto [edge, column] : llvm::enumerate(columns)) {
    column.reserve(options.size());
    for (const OpOption &option : options)
      column.push_back(option.layouts[edge]);
  }
  return std::make_shared<OpChoices>(std::move(*this));
}

/// Of choices with the same layouts the cheapest.
static void dropDearer(std::vector<OpOption> &options) {
  llvm::sort(options, [](const OpOption &a, const OpOption &b) {
    return std::tie(a.layouts, a.cost, a.choice) <
           std::tie(b.layouts, b.cost, b.choice);
  });
  options.erase(llvm::unique(options,
                             [](const OpOption &a, const OpOption &b) {
                               return a.layouts == b.layouts;
                             }),
                options.end());
}

/// Nothing where an op has too many.
static std::optional<AllChoices> allChoicesOf(CostTables &tables) {
  std::map<unsigned, std::shared_ptr<const OpChoices>> ofKind;
  AllChoices all;
  for (auto [op, own] : llvm::enumerate(tables.problem.ops)) {
    auto &known = ofKind[tables.kindOf(op)];
    if (!known) {
      ChoiceIndex number = tables.classOf(op).numChoices();
      if (number > kMostChoices)
        return std::nullopt;
      EdgesOf edges(own);
      OpChoices found(edges.values.size());
      for (ChoiceIndex index = 0; index < number; ++index)
        if (const Choice *choice = tables.choice(op, index))
          found.add(*choice, index, edges);
      dropDearer(found.options);
      known = std::move(found).finish();
    }
    all.push_back(known);
  }
  return all;
}

std::shared_ptr<const OpChoices>
assignment::keepChoices(CostTables &tables, unsigned op,
                        const OpChoices &choices,
                        llvm::function_ref<bool(size_t)> isKept) {
  EdgesOf edges(tables.problem.ops[op]);
  OpChoices kept(edges.values.size());
  for (auto [i, option] : llvm::enumerate(choices.options))
    if (isKept(i))
      kept.add(*tables.choice(op, option.choice), option.choice, edges);
  return std::move(kept).finish();
}

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
    Edge edge{op, value, unsigned(place), 0, {}};
    edge.price.assign(layoutsOf(edge).size(), 0);
    edges.push_back(std::move(edge));
  }
}

void Relaxation::addCosts(unsigned value, KnownVersionCosts &known) {
  llvm::ArrayRef<unsigned> ids = values[value].edges;
  if (ids.empty())
    return;
  std::vector<LayoutId> key = {tables.valueClassOf(value)};
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
                .try_emplace(std::move(key), tables, value, made,
                             llvm::ArrayRef(needed).drop_front())
                .first;
  }
  values[value].costs = &found->second;
}

Relaxation::Relaxation(CostTables &tables, AllChoices given,
                       KnownVersionCosts &known)
    : tables(tables), choices(std::move(given)),
      values(tables.problem.values.size()) {
  for (unsigned op = 0; op < choices.size(); ++op)
    addEdges(op);
  for (unsigned value = 0; value < values.size(); ++value)
    addCosts(value, known);
  for (unsigned op = 0; op < choices.size(); ++op)
    costs.push_back(costsOf(op));
}

void Relaxation::takePrices(const Relaxation &other) {
  for (auto [own, before] : llvm::zip_equal(edges, other.edges)) {
    llvm::ArrayRef<NeededLayouts> known = other.layoutsOf(before);
    for (auto [price, layouts] : llvm::zip_equal(own.price, layoutsOf(own)))
      price = before.price[llvm::find(known, layouts) - known.begin()];
  }
  for (unsigned op = 0; op < choices.size(); ++op)
    costs[op] = costsOf(op);
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

Costs Relaxation::opMarginal(const Edge &edge) const {
  Costs least(edge.price.size(), kInfinite);
  for (auto [cost, layout] :
       llvm::zip_equal(costs[edge.op], choices[edge.op]->columns[edge.place]))
    least[layout] = std::min(least[layout], cost);
  return least;
}

/// What is infinite is of layouts that nothing has.
void Relaxation::addToPrice(Edge &edge, llvm::ArrayRef<double> more,
                            double part) {
  Costs change(edge.price.size(), 0);
  for (auto [price, own, cost] : llvm::zip_equal(edge.price, change, more))
    if (cost < kInfinite) {
      own = part * cost;
      price += own;
    }
  for (auto [cost, layout] :
       llvm::zip_equal(costs[edge.op], choices[edge.op]->columns[edge.place]))
    cost += change[layout];
}

std::vector<Costs> Relaxation::onTopOf(const ValueFactor &value) const {
  std::vector<Costs> onTop;
  for (unsigned edge : value.edges) {
    Costs &own = onTop.emplace_back(edges[edge].price.size());
    llvm::transform(edges[edge].price, own.begin(), std::negate<double>());
  }
  return onTop;
}

/// Whether the op of an edge has one to another value in that direction.
bool Relaxation::goesOn(const Edge &edge, bool forward) const {
  return llvm::any_of(edgesOfOp[edge.op], [&](unsigned other) {
    unsigned value = edges[other].value;
    return forward ? value > edge.value : value < edge.value;
  });
}

void Relaxation::visit(unsigned value, bool forward) {
  const ValueFactor &own = values[value];
  size_t before = 0, behind = 0;
  for (unsigned id : own.edges) {
    Edge &edge = edges[id];
    addToPrice(edge, opMarginal(edge), -1);
    before += goesOn(edge, /*forward=*/false);
    behind += goesOn(edge, /*forward=*/true);
  }
  if ((forward ? behind : before) == 0)
    return;
  double part = 1.0 / std::max(before, behind);
  for (auto [id, more] : llvm::zip_equal(own.edges, marginalsOf(own)))
    if (goesOn(edges[id], forward))
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
    own = marginalsOf(value);
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
      found = keepChoices(tables, op, *choices[op],
                          [&](size_t option) { return keeps[option]; });
    all.push_back(found);
  }
  return all;
}

/// In the order of ops each its cheapest, what earlier ones chose being so.
std::vector<ChoiceIndex> Relaxation::decode() const {
  std::vector<std::vector<Costs>> onTop;
  onTop.reserve(values.size());
  for (const ValueFactor &value : values)
    onTop.push_back(onTopOf(value));
  std::vector<ChoiceIndex> chosen;
  for (unsigned op = 0; op < choices.size(); ++op) {
    Costs all = costs[op];
    for (auto [place, id] : llvm::enumerate(edgesOfOp[op])) {
      const Edge &edge = edges[id];
      Costs own = values[edge.value].costs->marginals(
          onTop[edge.value])[edge.placeOfValue];
      for (auto [cost, layout] :
           llvm::zip_equal(all, choices[op]->columns[place]))
        cost += own[layout];
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

/// Without choices that alone cost more than is left of `known` where all other
/// ops cost their least.
static AllChoices withinSumOfLeast(CostTables &tables,
                                   const AllChoices &choices, double known) {
  auto least = [](const auto &own) {
    return leastOf(llvm::map_to_vector(
        own->options, [](const OpOption &option) { return option.cost; }));
  };
  double left = known;
  for (const auto &own : choices)
    left -= least(own);
  std::map<const OpChoices *, std::shared_ptr<const OpChoices>> kept;
  AllChoices all;
  for (auto [op, own] : llvm::enumerate(choices)) {
    auto &found = kept[own.get()];
    if (!found) {
      double most = least(own) + std::max(left, 0.0);
      found = keepChoices(tables, op, *own, [&](size_t option) {
        return own->options[option].cost <= most;
      });
    }
    all.push_back(found);
  }
  return all;
}

std::optional<AllChoices> assignment::allChoicesWithin(CostTables &tables,
                                                       double known) {
  std::optional<AllChoices> all = allChoicesOf(tables);
  if (!all)
    return std::nullopt;
  return withinSumOfLeast(tables, *all, known);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "VersionCosts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

/// Pairs of layouts are looked at where trees to them, from all layouts that a
/// value may be made in, have no more places to part.
static constexpr size_t kMostTrees = 1 << 12;
/// What is between any two of more layouts is not priced, but free, until the
/// search of a bound leaves fewer.
static constexpr size_t kMostLayouts = 300;

namespace {

using PriceOf = llvm::function_ref<double(LayoutId from, LayoutId to)>;

/// The metric closure of a value's reshards to needed layouts, which come
/// first: versions are made of such and of what is made.
class Closure {
public:
  Closure(PriceOf priceOf, llvm::ArrayRef<LayoutId> needed,
          llvm::ArrayRef<LayoutId> made);

  unsigned numNeeded() const { return needed; }
  /// The number of a layout that is made.
  unsigned numberOf(LayoutId layout) const {
    return llvm::find(layouts, layout) - layouts.begin();
  }
  double operator()(unsigned from, unsigned to) const {
    return costs[from * needed + to];
  }
  /// The needed layouts that cost nothing from there.
  const llvm::SmallBitVector &freeFrom(unsigned layout) const {
    return free[layout];
  }
  /// Of a tree from `root` to both, which part there or at a needed layout.
  double treeCost(unsigned root, unsigned a, unsigned b) const {
    double best = (*this)(root, a) + (*this)(root, b);
    for (unsigned parting = 0; parting < needed; ++parting)
      best = std::min(best, (*this)(root, parting) + (*this)(parting, a) +
                                (*this)(parting, b));
    return std::min(best, kForbidden);
  }

private:
  llvm::SmallVector<LayoutId> layouts;
  size_t needed;
  Costs costs;
  std::vector<llvm::SmallBitVector> free;
};

} // namespace

Closure::Closure(PriceOf priceOf, llvm::ArrayRef<LayoutId> needed,
                 llvm::ArrayRef<LayoutId> made)
    : layouts(needed), needed(needed.size()) {
  for (LayoutId layout : made)
    if (!llvm::is_contained(needed, layout))
      layouts.push_back(layout);
  size_t n = needed.size();
  for (LayoutId from : layouts)
    for (LayoutId to : needed)
      costs.push_back(priceOf(from, to));
  for (size_t via = 0; via < n; ++via) // Floyd and Warshall
    for (size_t from = 0; from < layouts.size(); ++from) {
      double first = costs[from * n + via];
      if (first < kForbidden)
        for (size_t to = 0; to < n; ++to)
          costs[from * n + to] =
              std::min(costs[from * n + to], first + costs[via * n + to]);
    }
  for (size_t from = 0; from < layouts.size(); ++from) {
    llvm::SmallBitVector &own = free.emplace_back(n);
    for (size_t to = 0; to < n; ++to)
      own[to] = costs[from * n + to] == 0;
  }
}

//===----------------------------------------------------------------------===//
// Sets of versions
//===----------------------------------------------------------------------===//

namespace {

/// The sets of a value that is made in one layout: what up to two needed
/// layouts cost and what is free from there; of three and more needed layouts
/// the dearest one, and another one with it.
class SetsOf {
public:
  SetsOf(const Closure &costs, unsigned root) : costs(costs), root(root) {
    add(0, costs.freeFrom(root));
    for (unsigned layout = 0; layout < costs.numNeeded(); ++layout)
      if (!costs.freeFrom(root)[layout] && costs(root, layout) < kForbidden)
        others.push_back(layout);
    llvm::sort(others, [&](unsigned a, unsigned b) {
      return std::pair(costs(root, a), a) < std::pair(costs(root, b), b);
    });
  }

  void addSingles() {
    for (unsigned layout : others)
      add(costs(root, layout), withFree(costs.freeFrom(layout)));
  }

  void addPairs() {
    double everything = costOfEverything();
    for (auto [i, a] : llvm::enumerate(others))
      for (unsigned b : llvm::ArrayRef(others).take_front(i)) {
        if (isFree(a, b))
          continue;
        double cost = costs.treeCost(root, a, b);
        if (cost >= everything)
          continue;
        llvm::SmallBitVector both = withFree(costs.freeFrom(a));
        both |= costs.freeFrom(b);
        add(cost, std::move(both));
      }
  }

  void addMore() {
    llvm::SmallBitVector all = costs.freeFrom(root);
    for (auto [i, last] : llvm::enumerate(others)) {
      all.set(last);
      double cost = kForbidden;
      for (unsigned other : llvm::ArrayRef(others).take_front(i))
        if (!isFree(last, other))
          cost = std::min(cost, costs.treeCost(root, last, other));
      if (cost < kForbidden)
        add(cost, all);
    }
  }

  /// Cheapest first, without those that a cheaper one has all of.
  std::vector<VersionSet> take() {
    llvm::sort(sets, [](const VersionSet &a, const VersionSet &b) {
      return a.cost < b.cost;
    });
    std::vector<VersionSet> kept;
    for (VersionSet &set : sets)
      if (llvm::all_of(kept, [&](const VersionSet &other) {
            return set.layouts.test(other.layouts);
          }))
        kept.push_back(std::move(set));
    return kept;
  }

private:
  void add(double cost, llvm::SmallBitVector layouts) {
    sets.push_back({cost, std::move(layouts)});
  }
  bool isFree(unsigned a, unsigned b) const {
    return costs.freeFrom(a)[b] || costs.freeFrom(b)[a];
  }
  llvm::SmallBitVector withFree(llvm::SmallBitVector layouts) const {
    return layouts |= costs.freeFrom(root);
  }
  /// Of the cheapest layout that all others are free from.
  double costOfEverything() const {
    for (unsigned layout : others)
      if (llvm::all_of(others, [&](unsigned other) {
            return costs.freeFrom(layout)[other];
          }))
        return costs(root, layout);
    return kForbidden;
  }

  const Closure &costs;
  unsigned root;
  /// Needed layouts that are not free, nearest first.
  llvm::SmallVector<unsigned> others;
  std::vector<VersionSet> sets;
};

} // namespace

VersionCosts::VersionCosts(
    CostTables &tables, ReshardPrice price, unsigned value,
    llvm::ArrayRef<LayoutId> made,
    llvm::ArrayRef<llvm::ArrayRef<NeededLayouts>> needed) {
  llvm::MapVector<LayoutId, unsigned> numbers;
  size_t mostNeeded = 0;
  for (llvm::ArrayRef<NeededLayouts> ofUser : needed) {
    UserNeeds &own = needs.emplace_back();
    for (const NeededLayouts &layouts : ofUser)
      own.push_back(llvm::map_to_vector<1>(layouts, [&](LayoutId layout) {
        return numbers.insert({layout, numbers.size()}).first->second;
      }));
    if (!ofUser.empty())
      mostNeeded += ofUser[0].size();
  }
  auto layouts = llvm::to_vector(llvm::make_first_range(numbers));
  if (std::max(layouts.size(), made.size()) > kMostLayouts)
    return;
  auto priceOf = [&](LayoutId from, LayoutId to) {
    return price == ReshardPrice::Exact ? tables.reshard(value, from, to)
                                        : tables.leastReshard(value, from, to);
  };
  auto isOne = [](const NeededLayouts &layouts) { return layouts.size() == 1; };
  if (needed.size() == 1 && llvm::all_of(needed[0], isOne)) {
    // No other version is on the way.
    Costs byMade;
    byMade.reserve(made.size() * needed[0].size());
    for (LayoutId from : made)
      for (const NeededLayouts &to : needed[0])
        byMade.push_back(priceOf(from, to[0]));
    addPairs(byMade);
    return;
  }
  Closure costs(priceOf, layouts, made);
  size_t n = layouts.size(), trees = n * n * (n + made.size()) * made.size();
  for (LayoutId layout : made) {
    unsigned root = costs.numberOf(layout);
    addSteps([&](unsigned to) { return costs(root, to); });
    if (mostNeeded < 2 || trees > kMostTrees)
      continue;
    SetsOf found(costs, root);
    found.addSingles();
    found.addPairs();
    if (mostNeeded > 2)
      found.addMore();
    sets.push_back(found.take());
  }
}

void VersionCosts::addPairs(llvm::ArrayRef<double> byMade) {
  size_t numNeeds = needs[0].size();
  pairs.assign(byMade.begin(), byMade.end());
  for (double &cost : pairs)
    if (cost >= kForbidden)
      cost = kInfinite;
  transposed.reserve(pairs.size());
  for (size_t need = 0; need < numNeeds; ++need)
    for (size_t at = need; at < pairs.size(); at += numNeeds)
      transposed.push_back(pairs[at]);
}

void VersionCosts::addSteps(llvm::function_ref<double(unsigned)> costOf) {
  Steps &own = steps.emplace_back();
  auto costOfNeed = [&](const auto &layouts) {
    double cost = 0;
    for (unsigned layout : layouts)
      cost = std::max(cost, costOf(layout));
    return cost;
  };
  for (const UserNeeds &ofUser : needs)
    for (const auto &layouts : ofUser)
      own.costs.push_back(costOfNeed(layouts));
  own.costs.push_back(0);
  llvm::sort(own.costs);
  own.costs.erase(llvm::unique(own.costs), own.costs.end());
  llvm::erase_if(own.costs, [](double cost) { return cost >= kForbidden; });
  for (const UserNeeds &ofUser : needs) {
    auto &order = own.needs.emplace_back();
    for (auto [need, layouts] : llvm::enumerate(ofUser)) {
      size_t step =
          llvm::lower_bound(own.costs, costOfNeed(layouts)) - own.costs.begin();
      if (step < own.costs.size())
        order.push_back({step, need});
    }
    llvm::sort(order);
  }
}

//===----------------------------------------------------------------------===//
// Marginals
//===----------------------------------------------------------------------===//

/// The least sums of a row's term and its costs, by column; then what is on top
/// of these.
static void minPlus(llvm::ArrayRef<double> rows, llvm::ArrayRef<double> terms,
                    llvm::ArrayRef<double> onTop, Costs &least) {
  size_t n = least.size();
  const double *row = rows.data();
  for (double term : terms) {
    for (size_t i = 0; i < n; ++i) {
      double sum = term + row[i];
      least[i] = sum < least[i] ? sum : least[i];
    }
    row += n;
  }
  for (size_t i = 0; i < n; ++i)
    least[i] += onTop[i];
}

/// Where all layouts cost nothing.
static void marginalsOfFree(llvm::ArrayRef<Costs> onTop,
                            std::vector<Costs> &least) {
  double all = 0;
  Costs leastOf;
  for (const Costs &own : onTop) {
    leastOf.push_back(*llvm::min_element(own));
    all += leastOf.back();
  }
  for (auto [own, ownLeast, cheapest] : llvm::zip_equal(onTop, least, leastOf))
    for (auto [cost, result] : llvm::zip_equal(own, ownLeast))
      result = all - cheapest + cost;
}

void VersionCosts::findMarginals(llvm::ArrayRef<Costs> onTop, Side asked,
                                 std::vector<Costs> &least) const {
  least.resize(onTop.size());
  for (auto [own, result] : llvm::zip_equal(onTop, least))
    result.assign(own.size(), kInfinite);
  if (!pairs.empty()) {
    if (asked & Maker)
      minPlus(transposed, onTop[1], onTop[0], least[0]);
    if (asked & Users)
      minPlus(pairs, onTop[0], onTop[1], least[1]);
  } else if (!sets.empty()) {
    marginalsBySets(onTop, least);
  } else if (!steps.empty()) {
    marginalsByDearest(onTop, asked, least);
  } else {
    marginalsOfFree(onTop, least);
  }
}

/// Each user's cheapest need of those that are there.
template <typename IsThere>
static double cheapestOf(size_t numNeeds, const Costs &onTop, IsThere isThere) {
  double least = kInfinite;
  for (size_t need = 0; need < numNeeds; ++need)
    if (onTop[need] < least && isThere(need))
      least = onTop[need];
  return least;
}

void VersionCosts::marginalsBySets(llvm::ArrayRef<Costs> onTop,
                                   std::vector<Costs> &least) const {
  Costs cheapest(needs.size());
  for (auto [made, ofMade] : llvm::enumerate(sets))
    for (const VersionSet &set : ofMade) {
      auto isThere = [&](const auto &layouts) {
        return llvm::all_of(
            layouts, [&](unsigned layout) { return set.layouts[layout]; });
      };
      double total = onTop[0][made] + set.cost;
      for (auto [user, own] : llvm::enumerate(needs)) {
        cheapest[user] =
            cheapestOf(own.size(), onTop[user + 1],
                       [&](size_t need) { return isThere(own[need]); });
        total += cheapest[user];
      }
      if (total == kInfinite)
        continue;
      least[0][made] = std::min(least[0][made], total);
      for (auto [user, own] : llvm::enumerate(needs))
        for (auto [need, price, best] :
             llvm::zip_equal(own, onTop[user + 1], least[user + 1]))
          if (total - cheapest[user] + price < best && isThere(need))
            best = total - cheapest[user] + price;
    }
}

/// All users together pay for the dearest layout: each cost of a need may be
/// that one's, and then all that costs no more is there.
void VersionCosts::marginalsByDearest(llvm::ArrayRef<Costs> onTop, Side asked,
                                      std::vector<Costs> &least) const {
  // By user what is the cheapest on top, by step.
  std::vector<Costs> cheapest(needs.size());
  Costs totals;
  for (auto [made, own] : llvm::enumerate(steps)) {
    if (onTop[0][made] == kInfinite)
      continue;
    totals.assign(own.costs.begin(), own.costs.end());
    for (auto [user, order] : llvm::enumerate(own.needs)) {
      Costs &ofUser = cheapest[user];
      ofUser.assign(totals.size(), kInfinite);
      for (auto [step, need] : order)
        ofUser[step] = std::min(ofUser[step], onTop[user + 1][need]);
      for (size_t step = 1; step < totals.size(); ++step)
        ofUser[step] = std::min(ofUser[step], ofUser[step - 1]);
      for (size_t step = 0; step < totals.size(); ++step)
        totals[step] += ofUser[step];
    }
    for (double total : totals)
      least[0][made] = std::min(least[0][made], onTop[0][made] + total);
    if (!(asked & Users))
      continue;
    for (auto [user, order] : llvm::enumerate(own.needs)) {
      double others = kInfinite;
      size_t step = totals.size();
      for (auto [first, need] : llvm::reverse(order)) {
        for (; step > first; --step)
          if (totals[step - 1] < kInfinite)
            others =
                std::min(others, totals[step - 1] - cheapest[user][step - 1]);
        double &cost = least[user + 1][need];
        cost = std::min(cost, onTop[0][made] + others + onTop[user + 1][need]);
      }
    }
  }
}

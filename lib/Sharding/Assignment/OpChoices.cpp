// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OpChoices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <map>

using namespace shoal;
using namespace shoal::assignment;

static constexpr ChoiceIndex kMostChoices = 1 << 16;

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

/// Layouts that an option still has, in the order that they had.
static void keepLayouts(OpChoices &kept, const OpChoices &choices,
                        size_t edge) {
  llvm::ArrayRef<NeededLayouts> all = choices.layouts[edge];
  std::vector<bool> isThere(all.size(), false);
  for (const OpOption &option : kept.options)
    isThere[option.layouts[edge]] = true;
  std::vector<uint16_t> numbers(all.size());
  for (size_t place = 0; place < all.size(); ++place) {
    if (!isThere[place])
      continue;
    numbers[place] = kept.layouts[edge].size();
    kept.layouts[edge].push_back(all[place]);
    kept.places[edge].push_back(place);
  }
  for (OpOption &option : kept.options)
    option.layouts[edge] = numbers[option.layouts[edge]];
}

std::shared_ptr<const OpChoices>
assignment::keepChoices(const std::shared_ptr<const OpChoices> &choices,
                        llvm::function_ref<bool(size_t)> isKept) {
  OpChoices kept(choices->layouts.size());
  for (auto [i, option] : llvm::enumerate(choices->options))
    if (isKept(i))
      kept.options.push_back(option);
  if (kept.options.size() == choices->options.size())
    return choices;
  for (size_t edge = 0; edge < kept.layouts.size(); ++edge)
    keepLayouts(kept, *choices, edge);
  return std::move(kept).finish();
}

/// Without choices that alone cost more than is left of `known` where all other
/// ops cost their least.
static AllChoices withinSumOfLeast(const AllChoices &choices, double known) {
  auto least = [](const auto &own) {
    return *llvm::min_element(llvm::map_to_vector(
        own->options, [](const OpOption &option) { return option.cost; }));
  };
  double left = known;
  for (const auto &own : choices)
    left -= least(own);
  std::map<const OpChoices *, std::shared_ptr<const OpChoices>> kept;
  AllChoices all;
  for (const auto &own : choices) {
    auto &found = kept[own.get()];
    if (!found) {
      double most = least(own) + std::max(left, 0.0);
      found = keepChoices(own, [&](size_t option) {
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
  return withinSumOfLeast(*all, known);
}

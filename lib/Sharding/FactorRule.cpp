// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/FactorRule.h"
#include "SplitParts.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

bool FactorRule::isParallel() const {
  return llvm::all_of(factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Parallel;
  });
}

static bool axesAreDistinct(const FactorSharding &choice) {
  llvm::SmallVector<AxisId, 8> seen;
  for (const AxisList &axes : choice.axes)
    seen.append(axes.begin(), axes.end());
  for (const FactorSharding::Pass &pass : choice.passes)
    seen.push_back(pass.axis);
  llvm::sort(seen);
  return llvm::adjacent_find(seen) == seen.end();
}

static bool mayBeSplit(const FactorRule &rule, unsigned factor) {
  return rule.factors[factor].kind != FactorKind::Replicated;
}

/// Whether `factor` may have more shards than rows: in its dimensions no other
/// factor is split, and it has no more axes than it takes to exceed its size,
/// unless no other factor could have them (see takeAxes).
static bool mayExceedSize(const FactorRule &rule, const FactorSharding &choice,
                          unsigned factor, const Mesh &mesh) {
  llvm::ArrayRef<AxisId> axes = choice.axes[factor];
  bool isShortest = mesh.sizeOf(axes.drop_back()) < rule.factors[factor].size;
  auto allows = [&](llvm::ArrayRef<unsigned> dim) {
    return !llvm::is_contained(dim, factor) ||
           llvm::all_of(dim, [&](unsigned other) {
             return other == factor ||
                    (choice.axes[other].empty() &&
                     (isShortest || !mayBeSplit(rule, other)));
           });
  };
  auto allowsAll = [&](const DimFactors &dims) {
    return llvm::all_of(dims, allows);
  };
  return llvm::all_of(rule.operands, allowsAll) &&
         llvm::all_of(rule.results, allowsAll);
}

bool shoal::factorsAllow(const FactorRule &rule, const FactorSharding &choice,
                         const Mesh &mesh) {
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    const AxisList &axes = choice.axes[f];
    if (axes.empty())
      continue;
    int64_t shards = mesh.sizeOf(axes);
    if (factor.kind == FactorKind::Replicated)
      return false;
    if (shards > factor.size && !mayExceedSize(rule, choice, f, mesh))
      return false;
    if (factor.needsEvenSplit && factor.size % shards != 0)
      return false;
  }
  return true;
}

/// Of each dimension the axes of its factors, in order; nothing where a minor
/// factor is split although its major one is not split down to size one.
static std::optional<Sharding> shardingOf(const DimFactors &dims,
                                          const FactorRule &rule,
                                          const FactorSharding &choice,
                                          const Mesh &mesh) {
  // One object on all ways out is built where the caller has it.
  std::optional<Sharding> sharding(std::in_place);
  sharding->dims.resize(dims.size());
  for (auto [dim, result] : llvm::zip_equal(dims, sharding->dims)) {
    bool majorIsSplitWhole = true;
    for (unsigned f : dim) {
      const AxisList &axes = choice.axes[f];
      if (!axes.empty() && !majorIsSplitWhole) {
        sharding.reset();
        return sharding;
      }
      llvm::append_range(result, axes);
      majorIsSplitWhole &= mesh.sizeOf(axes) == rule.factors[f].size;
    }
  }
  return sharding;
}

std::optional<Sharding> shoal::operandSharding(const FactorRule &rule,
                                               const FactorSharding &choice,
                                               unsigned operand,
                                               const Mesh &mesh) {
  auto sharding = shardingOf(rule.operands[operand], rule, choice, mesh);
  if (!sharding)
    return sharding;
  for (const FactorSharding::Pass &pass : choice.passes)
    if (llvm::is_contained(rule.linearIn[pass.set], operand))
      sharding->partial.push_back(pass.axis);
  llvm::sort(sharding->partial);
  return sharding;
}

std::optional<Sharding> shoal::resultSharding(const FactorRule &rule,
                                              const FactorSharding &choice,
                                              unsigned result,
                                              const Mesh &mesh) {
  auto sharding = shardingOf(rule.results[result], rule, choice, mesh);
  if (!sharding)
    return sharding;
  for (const FactorSharding::Pass &pass : choice.passes)
    sharding->partial.push_back(pass.axis);
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, choice.axes))
    if (isSum(factor))
      llvm::append_range(sharding->partial, axes);
  llvm::sort(sharding->partial);
  return sharding;
}

std::optional<OpShardings> shoal::applyChoice(const FactorRule &rule,
                                              const FactorSharding &choice,
                                              const Mesh &mesh) {
  if (!axesAreDistinct(choice) || !factorsAllow(rule, choice, mesh) ||
      llvm::any_of(choice.passes, [&](const FactorSharding::Pass &pass) {
        return pass.set >= rule.linearIn.size();
      }))
    return std::nullopt;
  OpShardings shardings;
  for (unsigned i = 0; i < rule.operands.size(); ++i) {
    auto sharding = operandSharding(rule, choice, i, mesh);
    if (!sharding)
      return std::nullopt;
    shardings.operands.push_back(std::move(*sharding));
  }
  for (unsigned i = 0; i < rule.results.size(); ++i) {
    auto sharding = resultSharding(rule, choice, i, mesh);
    if (!sharding)
      return std::nullopt;
    shardings.results.push_back(std::move(*sharding));
  }
  return shardings;
}

/// Hands the axes of a dimension to its factors, major first; the last one that
/// may be split gets what is left.
static bool takeAxes(llvm::ArrayRef<unsigned> dim, llvm::ArrayRef<AxisId> axes,
                     const FactorRule &rule, const Mesh &mesh,
                     llvm::MutableArrayRef<std::optional<AxisList>> taken) {
  for (auto [i, f] : llvm::enumerate(dim)) {
    AxisList own;
    bool isLast = llvm::none_of(dim.drop_front(i + 1), [&](unsigned other) {
      return mayBeSplit(rule, other);
    });
    while (!axes.empty() &&
           (isLast || mesh.sizeOf(own) < rule.factors[f].size)) {
      own.push_back(axes.front());
      axes = axes.drop_front();
    }
    if (taken[f] && *taken[f] != own)
      return false;
    taken[f] = own;
  }
  return axes.empty();
}

/// The set of linear operands whose members, and no other operand, are partial
/// over `axis`.
static std::optional<unsigned>
findPassSet(const FactorRule &rule, const OpShardings &shardings, AxisId axis) {
  llvm::SmallVector<unsigned> members;
  for (auto [i, operand] : llvm::enumerate(shardings.operands))
    if (llvm::is_contained(operand.partial, axis))
      members.push_back(i);
  for (auto [set, operands] : llvm::enumerate(rule.linearIn))
    if (llvm::ArrayRef(members) == llvm::ArrayRef(operands))
      return set;
  return std::nullopt;
}

std::optional<FactorSharding> shoal::findChoice(const FactorRule &rule,
                                                const OpShardings &shardings,
                                                const Mesh &mesh) {
  llvm::SmallVector<std::optional<AxisList>> taken(rule.factors.size());
  auto takeAll = [&](llvm::ArrayRef<DimFactors> tensors,
                     llvm::ArrayRef<Sharding> of) {
    for (auto [dims, sharding] : llvm::zip_equal(tensors, of))
      for (auto [dim, axes] : llvm::zip_equal(dims, sharding.dims))
        if (!takeAxes(dim, axes, rule, mesh, taken))
          return false;
    return true;
  };
  if (!takeAll(rule.operands, shardings.operands) ||
      !takeAll(rule.results, shardings.results))
    return std::nullopt;
  FactorSharding choice;
  for (std::optional<AxisList> &axes : taken)
    choice.axes.push_back(axes.value_or(AxisList()));
  for (AxisId axis = 0; axis < mesh.axes.size(); ++axis) {
    if (!llvm::any_of(shardings.operands, [&](const Sharding &s) {
          return llvm::is_contained(s.partial, axis);
        }))
      continue;
    std::optional<unsigned> set = findPassSet(rule, shardings, axis);
    if (!set)
      return std::nullopt;
    choice.passes.push_back({axis, *set});
  }
  std::optional<OpShardings> made = applyChoice(rule, choice, mesh);
  if (!made || made->operands != shardings.operands ||
      made->results != shardings.results)
    return std::nullopt;
  return choice;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the versions of a value cost at least, however its users choose.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_VERSIONCOSTS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_VERSIONCOSTS_H

#include "CostTables.h"
#include "llvm/ADT/SmallBitVector.h"

namespace shoal::assignment {

/// The costs of having something, by layout.
using Costs = std::vector<double>;
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Versions that a value may have: no plan has a version of each of `layouts`,
/// numbers of needed layouts, for less.
struct VersionSet {
  double cost = 0;
  llvm::SmallBitVector layouts;
};

/// What a user may need of a value: layouts, several where it reads the value
/// several times.
using NeededLayouts = llvm::SmallVector<LayoutId, 1>;

/// What reshards between layouts cost, or no more than that, which takes less
/// time to know where they are many.
enum class ReshardPrice { Least, Exact };

/// Of a value that is made in one of some layouts, and of which each user needs
/// one of some others, or some of them at once, what no plan has it for less
/// than. Users who need it in different layouts pay for two of them, where
/// layouts are few, else for the dearest one.
class VersionCosts {
public:
  /// `needed`: by user.
  VersionCosts(CostTables &tables, ReshardPrice price, unsigned value,
               llvm::ArrayRef<LayoutId> made,
               llvm::ArrayRef<llvm::ArrayRef<NeededLayouts>> needed);

  /// Whose marginals are asked for.
  enum Side : unsigned { Maker = 1, Users = 2, All = Maker | Users };
  /// For the value's maker and each user what the value costs at least by what
  /// it makes or needs, where all of these come on top with these costs, in the
  /// same order. What is not asked for may be infinite.
  void findMarginals(llvm::ArrayRef<Costs> onTop, Side asked,
                     std::vector<Costs> &least) const;

private:
  /// Of one user: what it may need, as numbers of layouts.
  using UserNeeds = std::vector<llvm::SmallVector<unsigned, 1>>;

  /// What needs cost from a made layout: the costs that any of them has, and by
  /// user the first cost at which a need is there.
  struct Steps {
    Costs costs;
    std::vector<std::vector<std::pair<uint16_t, uint16_t>>> needs;
  };

  void addSteps(llvm::function_ref<double(unsigned)> costOf);
  void addPairs(llvm::ArrayRef<double> byMade);
  void marginalsByDearest(llvm::ArrayRef<Costs> onTop, Side asked,
                          std::vector<Costs> &least) const;
  void marginalsBySets(llvm::ArrayRef<Costs> onTop,
                       std::vector<Costs> &least) const;

  std::vector<UserNeeds> needs;
  /// Of one user, by made layout and what is needed, and the other way round;
  /// empty where it is not one.
  Costs pairs, transposed;
  /// By made layout.
  std::vector<Steps> steps;
  /// By made layout; empty where layouts are many.
  std::vector<std::vector<VersionSet>> sets;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_VERSIONCOSTS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The closure of least weight.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CLOSURE_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CLOSURE_H

#include <cstdint>
#include <utility>
#include <vector>

namespace shoal::remat {

/// Items with weights, some of which require others. A closure has with an item
/// all that it requires; that of least weight is found by one minimum cut
/// (J.-C. Picard, "Maximal Closure of a Graph", 1976). Sums of weights must fit
/// int64_t.
class ClosureProblem {
public:
  /// An item, by its number from 0 on; a negative weight is a gain.
  unsigned add(int64_t weight) {
    weights.push_back(weight);
    forced.push_back(false);
    return weights.size() - 1;
  }
  void addWeight(unsigned item, int64_t weight) { weights[item] += weight; }
  void require(unsigned item, unsigned other) {
    requirements.emplace_back(item, other);
  }
  /// The closure has this item.
  void force(unsigned item) { forced[item] = true; }

  /// For each item whether it is in. Of several closures of least weight the
  /// smallest one, which is in all of them: it does not depend on how the cut
  /// was found.
  std::vector<bool> solve() const;

private:
  std::vector<int64_t> weights;
  std::vector<bool> forced;
  std::vector<std::pair<unsigned, unsigned>> requirements;
};

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CLOSURE_H

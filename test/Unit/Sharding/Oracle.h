// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The cheapest way from one sharding to another, found by search over all of
// them: what a planner is measured by. For even splits and axes whose sizes are
// powers of two.

#ifndef SHOAL_TEST_UNIT_SHARDING_ORACLE_H
#define SHOAL_TEST_UNIT_SHARDING_ORACLE_H

#include "shoal/Sharding/Sharding.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <optional>

namespace shoal::testing {

/// Axes are cut into atoms of size two, dimensions into digits of size two,
/// major to minor. A state says for each atom which digit it fixes on a device;
/// digits that no atom fixes may lie between those that some do, so that blocks
/// may be strided.
///
/// Moves: slice, all_gather, all_to_all, reduce_scatter and all_reduce of any
/// set of atoms at once, and collective_permute, which puts any atoms on the
/// digits that are fixed. Unless only standard collectives are looked for, also
/// an exchange between any two states, in which addends stay on their devices.
/// No state is larger on a device than both ends.
class Oracle {
public:
  enum class Moves { Standard, All };

  /// `maySum`: states may be partial sums.
  Oracle(llvm::ArrayRef<int64_t> shape, const Mesh &mesh, bool maySum,
         Moves moves)
      : mesh(mesh) {
    for (AxisId axis = 0; axis < mesh.axes.size(); ++axis)
      for (int64_t n = mesh.axes[axis].size; n > 1; n /= 2)
        ++numAtoms;
    for (int64_t n : shape) {
      firstDigit.push_back(numDigits);
      volume *= n;
      for (int k = 0; k < numAtoms && n % 2 == 0; ++k, n /= 2)
        ++numDigits;
    }
    addStates({}, maySum);
    for (const State &from : states)
      for (const State &to : states)
        costs.push_back(moves == Moves::All
                            ? std::min(costOf(from, to), exchangeCost(from, to))
                            : costOf(from, to));
  }

  /// Elements that the busiest device sends on the cheapest way.
  int64_t cheapest(const Sharding &source, const Sharding &target) {
    int from = ids.at(stateOf(source)), to = ids.at(stateOf(target));
    int64_t limit = std::max(sizeOf(states[from]), sizeOf(states[to]));
    auto [it, isNew] = distances.try_emplace({from, limit});
    if (isNew)
      it->second = distancesFrom(from, limit);
    return it->second[to];
  }

private:
  /// A digit, or one of these, for each atom.
  using State = std::vector<int>;
  static constexpr int kReplicated = -1, kPartial = -2, kNobody = -1;
  static constexpr int64_t kNever = int64_t(1) << 60;

  void addStates(State begun, bool maySum) {
    if (int(begun.size()) == numAtoms) {
      ids[begun] = states.size();
      states.push_back(begun);
      return;
    }
    for (int place = maySum ? kPartial : kReplicated; place < numDigits;
         ++place) {
      if (place >= 0 && llvm::is_contained(begun, place))
        continue;
      State next = begun;
      next.push_back(place);
      addStates(std::move(next), maySum);
    }
  }

  State stateOf(const Sharding &sharding) const {
    std::vector<int> firstAtom;
    int atoms = 0;
    for (const MeshAxis &axis : mesh.axes) {
      firstAtom.push_back(atoms);
      for (int64_t n = axis.size; n > 1; n /= 2)
        ++atoms;
    }
    firstAtom.push_back(atoms);
    State state(numAtoms, kReplicated);
    for (auto [first, axes] : llvm::zip_equal(firstDigit, sharding.dims)) {
      int digit = first;
      for (AxisId axis : axes)
        for (int atom = firstAtom[axis]; atom < firstAtom[axis + 1]; ++atom)
          state[atom] = digit++;
    }
    for (AxisId axis : sharding.partial)
      for (int atom = firstAtom[axis]; atom < firstAtom[axis + 1]; ++atom)
        state[atom] = kPartial;
    return state;
  }

  int64_t sizeOf(const State &state) const {
    return volume >>
           llvm::count_if(state, [](int place) { return place >= 0; });
  }

  int64_t costOf(const State &from, const State &to) const {
    int sliced = 0, gathered = 0, moved = 0, scattered = 0, reduced = 0;
    bool isFree = true, isMove = true;
    for (auto [a, b] : llvm::zip_equal(from, to)) {
      if (a == b)
        continue;
      isFree &= b < 0 || !llvm::is_contained(from, b);
      isMove &= b != kPartial;
      (a >= 0             ? (b >= 0 ? moved : gathered)
       : a == kReplicated ? sliced
       : b >= 0           ? scattered
                          : reduced)++;
    }
    int64_t size = sizeOf(from);
    auto part = [&](int atoms) { return size - (size >> atoms); };
    int kinds = (sliced > 0) + (gathered > 0) + (moved > 0) + (scattered > 0) +
                (reduced > 0);
    if (kinds <= 1 && isFree && isMove)
      return gathered ? sizeOf(to) - size
                      : part(moved) + part(scattered) + 2 * part(reduced);
    State before = from, after = to;
    llvm::sort(before);
    llvm::sort(after);
    return before == after ? size : kNever;
  }

  /// What the device lacks that lacks most: all of its block where two atoms
  /// fix one digit, as some device has other values of them.
  int64_t exchangeCost(const State &from, const State &to) const {
    std::vector<int> atomOf(numDigits, kNobody);
    int fixed = 0;
    bool isDisputed = false;
    for (const State *state : {&from, &to})
      for (int atom = 0; atom < numAtoms; ++atom) {
        int digit = (*state)[atom];
        if ((from[atom] == kPartial) != (to[atom] == kPartial))
          return kNever;
        if (digit < 0)
          continue;
        fixed += atomOf[digit] == kNobody;
        isDisputed |= atomOf[digit] != kNobody && atomOf[digit] != atom;
        atomOf[digit] = atom;
      }
    return sizeOf(to) - (isDisputed ? 0 : volume >> fixed);
  }

  /// Dijkstra's algorithm over states of at most `limit` elements.
  std::vector<int64_t> distancesFrom(int source, int64_t limit) const {
    size_t n = states.size();
    std::vector<int64_t> best(n, kNever);
    std::vector<bool> isDone(n);
    best[source] = 0;
    while (true) {
      size_t next = n;
      for (size_t i = 0; i < n; ++i)
        if (!isDone[i] && best[i] < kNever &&
            (next == n || best[i] < best[next]))
          next = i;
      if (next == n)
        return best;
      isDone[next] = true;
      for (size_t i = 0; i < n; ++i)
        if (sizeOf(states[i]) <= limit)
          best[i] = std::min(best[i], best[next] + costs[next * n + i]);
    }
  }

  const Mesh &mesh;
  int numAtoms = 0, numDigits = 0;
  int64_t volume = 1;
  std::vector<int> firstDigit;
  std::vector<State> states;
  std::map<State, int> ids;
  std::vector<int64_t> costs;
  std::map<std::pair<int, int64_t>, std::vector<int64_t>> distances;
};

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_ORACLE_H

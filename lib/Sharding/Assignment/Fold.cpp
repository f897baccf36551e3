// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fold.h"
#include "ValueOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

using Op = AssignmentProblem::Op;

/// Layers that stay on either side of those that are left out, so that what
/// lies between two layers is met in each way there is: between the first and
/// an inner one, two inner ones, and an inner one and the last.
static constexpr int kMargin = 2;
/// Fewer are not folded: two thirds of them would stay.
static constexpr size_t kLeastLayers = 3 * kMargin;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//
//
// The ops that a shift takes one to the next are a chain, one op a layer. Which
// op of one chain is in a layer with which of another is a matter of where the
// layers are cut: here, with its nearest neighbour.

namespace {
/// One op of each layer from `first` on.
struct LayerOps {
  std::vector<unsigned> ops;
  int first = 0;
  int last() const { return first + int(ops.size()) - 1; }
  /// Whether it has the layers that stay on either side of these.
  bool reachesBeyond(int from, int to) const {
    return first <= from - kMargin && last() >= to + kMargin;
  }
};

/// The layers of a shift, and which of them are left out.
class Layers {
public:
  /// The layers by the shift that takes `seed` on.
  Layers(const AssignmentProblem &problem, const ValueOps &valueOps,
         const Shift &shift, unsigned seed);

  size_t numLeftOut() const { return leftOut; }
  bool isLeftOut(unsigned op) const { return isOut(chainOf[op], layerOf(op)); }
  /// What share of a value's price the layers that stay bear.
  double weightOf(unsigned value) const;
  /// Of an op that is left out the one that stands for it to `reader`; kNoOp
  /// where it would come behind its reader though what is left out does not.
  unsigned standInFor(unsigned op, unsigned reader) const;
  /// The one in the layer before those that are left out, or behind them.
  unsigned before(unsigned op) const { return opAt(chainOf[op], from - 1); }
  unsigned behind(unsigned op) const { return opAt(chainOf[op], to + 1); }
  bool isNearerBefore(unsigned op) const {
    return layerOf(op) - from < to - layerOf(op);
  }

private:
  void findChains(const Shift &shift);
  void align(unsigned seed);
  void dropIrregular(const Shift &shift);
  void cut();
  size_t countOut(int from, int to) const;
  /// Chains that reach two layers beyond what is left out.
  bool isCut(const LayerOps &chain) const {
    return chain.reachesBeyond(from, to);
  }
  bool isOut(unsigned chain, int layer) const {
    return chain != kNoOp && from <= layer && layer <= to &&
           isCut(chains[chain]);
  }
  int layerOf(unsigned op) const {
    return chainOf[op] == kNoOp ? 0
                                : chains[chainOf[op]].first + int(place[op]);
  }
  unsigned opAt(unsigned chain, int layer) const {
    return chains[chain].ops[layer - chains[chain].first];
  }

  const AssignmentProblem &problem;
  const ValueOps &valueOps;
  std::vector<LayerOps> chains;
  /// By op: its chain, or kNoOp, and its place there.
  std::vector<unsigned> chainOf, place;
  /// The layers that are left out, none where from > to.
  int from = 0, to = -1;
  size_t leftOut = 0;
};
} // namespace

Layers::Layers(const AssignmentProblem &problem, const ValueOps &valueOps,
               const Shift &shift, unsigned seed)
    : problem(problem), valueOps(valueOps), chainOf(problem.ops.size(), kNoOp),
      place(problem.ops.size(), 0) {
  findChains(shift);
  if (chainOf[seed] == kNoOp)
    return;
  align(seed);
  dropIrregular(shift);
  cut();
}

void Layers::findChains(const Shift &shift) {
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    if (shift.previous[op] != kNoOp || shift.next[op] == kNoOp)
      continue;
    LayerOps chain;
    for (unsigned link = op; link != kNoOp; link = shift.next[link])
      chain.ops.push_back(link);
    if (chain.ops.size() < kLeastLayers)
      continue;
    for (auto [i, link] : llvm::enumerate(chain.ops))
      chainOf[link] = chains.size(), place[link] = i;
    chains.push_back(std::move(chain));
  }
}

/// From the seed's chain on, nearest first. Ops of chains that are not reached
/// are of none.
void Layers::align(unsigned seed) {
  std::vector<bool> isAligned(chains.size());
  std::vector<unsigned> work = {chainOf[seed]};
  isAligned[chainOf[seed]] = true;
  auto visit = [&](unsigned op, int layer) {
    unsigned chain = chainOf[op];
    if (chain == kNoOp || isAligned[chain])
      return;
    isAligned[chain] = true;
    chains[chain].first = layer - int(place[op]);
    work.push_back(chain);
  };
  for (size_t done = 0; done < work.size();) { // visits add to it
    const auto &ops = chains[work[done++]].ops;
    unsigned middle = ops[ops.size() / 2];
    int layer = layerOf(middle);
    for (unsigned value : problem.ops[middle].operands)
      visit(valueOps.makerOf[value], layer);
    for (unsigned value : problem.ops[middle].results)
      for (unsigned user : valueOps.usersOf[value])
        visit(user, layer);
  }
  for (auto [chain, aligned] : llvm::zip_equal(chains, isAligned))
    if (!aligned)
      for (unsigned op : chain.ops)
        chainOf[op] = kNoOp;
}

/// Chains in which the ops between the second and the last but one are not
/// alike: that read something else than the shift of what the one before
/// reads, or do not follow each other up or down.
void Layers::dropIrregular(const Shift &shift) {
  auto followsAs = [&](unsigned op, unsigned next) {
    return llvm::all_of(
        llvm::zip_equal(problem.ops[op].operands, problem.ops[next].operands),
        [&](auto pair) {
          unsigned maker = valueOps.makerOf[std::get<0>(pair)];
          unsigned other = valueOps.makerOf[std::get<1>(pair)];
          return maker == other || shift.next[maker] == other;
        });
  };
  for (const LayerOps &chain : chains) {
    llvm::ArrayRef<unsigned> ops(chain.ops);
    bool goesUp = ops[1] < ops[2];
    bool isRegular = true;
    for (size_t i = 2; i + 1 < ops.size() && isRegular; ++i)
      isRegular =
          (ops[i - 1] < ops[i]) == goesUp && followsAs(ops[i - 1], ops[i]);
    if (!isRegular)
      for (unsigned op : ops)
        chainOf[op] = kNoOp;
  }
}

size_t Layers::countOut(int newFrom, int newTo) const {
  size_t count = 0;
  for (const LayerOps &chain : chains)
    if (chainOf[chain.ops[0]] != kNoOp && chain.reachesBeyond(newFrom, newTo))
      count += newTo - newFrom + 1;
  return count;
}

/// Leaves out as many ops as can be.
void Layers::cut() {
  llvm::MapVector<int, unsigned> firsts, lasts;
  for (const LayerOps &chain : chains)
    if (chainOf[chain.ops[0]] != kNoOp)
      ++firsts[chain.first], ++lasts[chain.last()];
  for (auto [first, numFirst] : firsts)
    for (auto [last, numLast] : lasts) {
      if (last - first < int(kLeastLayers) - 1)
        continue;
      size_t count = countOut(first + kMargin, last - kMargin);
      if (count > leftOut)
        leftOut = count, from = first + kMargin, to = last - kMargin;
    }
}

/// A value that all layers read, such as a mask, is made once for fewer now.
double Layers::weightOf(unsigned value) const {
  unsigned maker = valueOps.makerOf[value];
  bool isOfLayers = chainOf[maker] != kNoOp && isCut(chains[chainOf[maker]]);
  const auto &users = valueOps.usersOf[value];
  if (isOfLayers || users.empty())
    return 1;
  size_t left =
      llvm::count_if(users, [&](unsigned user) { return !isLeftOut(user); });
  return double(left) / users.size();
}

/// A reader in a layer behind those left out reads the stand-in before them.
unsigned Layers::standInFor(unsigned op, unsigned reader) const {
  bool isOfLayer = chainOf[reader] != kNoOp && isCut(chains[chainOf[reader]]);
  unsigned first = before(op), second = behind(op);
  if (!(isOfLayer ? layerOf(reader) > to : isNearerBefore(op)))
    std::swap(first, second);
  if (op > reader || first < reader)
    return first;
  return second < reader ? second : kNoOp;
}

//===----------------------------------------------------------------------===//
// The folded problem
//===----------------------------------------------------------------------===//

/// Pairs of ops that may be the same one in two layers that follow each other:
/// of each colour with enough ops two in the middle, those with the most
/// operations first, then those of which there are the fewest.
static std::vector<std::pair<unsigned, unsigned>>
findSeeds(const AssignmentProblem &problem, const Colours &colours) {
  constexpr size_t kMaxSeeds = 8;
  llvm::MapVector<uint64_t, std::vector<unsigned>> byColour;
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    if (problem.ops[op].priority == AssignmentProblem::Priority::Contraction)
      byColour[colours.colours[op]].push_back(op);
  std::vector<std::vector<unsigned>> all;
  for (auto &[colour, ops] : byColour)
    // The ends are often of another colour.
    if (ops.size() + 2 >= kLeastLayers)
      all.push_back(std::move(ops));
  llvm::sort(all, [](const auto &a, const auto &b) {
    return std::pair(a.size(), a[0]) < std::pair(b.size(), b[0]);
  });
  std::vector<std::pair<unsigned, unsigned>> seeds;
  for (const auto &ops : llvm::ArrayRef(all).take_front(kMaxSeeds))
    seeds.emplace_back(ops[ops.size() / 2 - 1], ops[ops.size() / 2]);
  return seeds;
}

/// Nothing where a stand-in would come behind its reader.
static std::optional<FoldedProblem> leaveOut(const AssignmentProblem &problem,
                                             const ValueOps &valueOps,
                                             const Layers &layers) {
  FoldedProblem folded;
  AssignmentProblem &rest = folded.problem;
  rest.mesh = problem.mesh;
  rest.deviceOrders = problem.deviceOrders;
  std::vector<unsigned> newOps(problem.ops.size(), kNoOp);
  std::vector<unsigned> newValues(problem.values.size(), kNoOp);
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    if (layers.isLeftOut(id))
      continue;
    newOps[id] = rest.ops.size();
    Op &own = rest.ops.emplace_back(op);
    for (unsigned &value : own.results) {
      newValues[value] = rest.values.size();
      rest.values.push_back(problem.values[value]);
      rest.values.back().weight *= layers.weightOf(value);
      value = newValues[value];
    }
  }
  for (unsigned id = 0; id < problem.ops.size(); ++id) {
    bool isOut = newOps[id] == kNoOp;
    folded.before.push_back(newOps[isOut ? layers.before(id) : id]);
    folded.behind.push_back(newOps[isOut ? layers.behind(id) : id]);
    folded.nearest.push_back(
        (isOut && !layers.isNearerBefore(id) ? folded.behind : folded.before)
            .back());
    if (isOut)
      continue;
    for (unsigned &value : rest.ops[newOps[id]].operands) {
      unsigned maker = valueOps.makerOf[value];
      unsigned standIn =
          newOps[maker] == kNoOp ? layers.standInFor(maker, id) : maker;
      if (standIn == kNoOp)
        return std::nullopt;
      const auto &results = problem.ops[maker].results;
      size_t place = llvm::find(results, value) - results.begin();
      value = newValues[problem.ops[standIn].results[place]];
    }
  }
  return folded;
}

std::optional<FoldedProblem>
assignment::foldRepeats(const AssignmentProblem &problem) {
  ValueOps valueOps(problem);
  Colours colours(problem, valueOps);
  std::optional<Layers> best;
  for (auto [from, to] : findSeeds(problem, colours)) {
    Shift shift = findShift(problem, valueOps, colours, from, to);
    Layers layers(problem, valueOps, shift, from);
    if (!best || layers.numLeftOut() > best->numLeftOut())
      best.emplace(std::move(layers));
  }
  if (!best || best->numLeftOut() == 0)
    return std::nullopt;
  LDBG() << "of " << problem.ops.size() << " ops " << best->numLeftOut()
         << " repeat others";
  return leaveOut(problem, valueOps, *best);
}

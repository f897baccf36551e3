// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Transforms/Rematerialize/Cut.h"
#include "Steps.h"
#include "Transforms/Rematerialize/Closure.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace shoal::remat;

namespace {

using Random = std::mt19937;

unsigned draw(Random &random, unsigned end) { return random() % end; }

TEST(Closure, TakesAnItemThatPaysForWhatItRequires) {
  ClosureProblem problem;
  unsigned gain = problem.add(-5), price = problem.add(3);
  problem.require(gain, price);
  EXPECT_EQ(problem.solve(), (std::vector<bool>{true, true}));
}

TEST(Closure, OfTiesTakesTheSmallest) {
  ClosureProblem problem;
  unsigned gain = problem.add(-3), price = problem.add(3);
  problem.require(gain, price);
  EXPECT_EQ(problem.solve(), (std::vector<bool>{false, false}));
}

TEST(Closure, IsTheLeastOfAll) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    unsigned count = 1 + draw(random, 9);
    ClosureProblem problem;
    std::vector<int64_t> weights;
    std::vector<std::pair<unsigned, unsigned>> requirements;
    for (unsigned i = 0; i < count; ++i) {
      weights.push_back(int64_t(draw(random, 21)) - 10);
      problem.add(weights.back());
    }
    for (unsigned i = draw(random, 2 * count); i-- > 0;) {
      requirements.emplace_back(draw(random, count), draw(random, count));
      problem.require(requirements.back().first, requirements.back().second);
    }
    unsigned forced = draw(random, count);
    problem.force(forced);
    auto weightOf = [&](unsigned chosen) -> std::optional<int64_t> {
      if (!(chosen >> forced & 1))
        return std::nullopt;
      for (auto [item, other] : requirements)
        if (chosen >> item & 1 && !(chosen >> other & 1))
          return std::nullopt;
      int64_t sum = 0;
      for (unsigned i = 0; i < count; ++i)
        sum += chosen >> i & 1 ? weights[i] : 0;
      return sum;
    };
    int64_t least = INT64_MAX;
    for (unsigned chosen = 0; chosen < 1u << count; ++chosen)
      least = std::min(least, weightOf(chosen).value_or(INT64_MAX));
    unsigned found = 0;
    std::vector<bool> closure = problem.solve();
    for (unsigned i = 0; i < count; ++i)
      found |= unsigned(closure[i]) << i;
    EXPECT_EQ(weightOf(found), least) << "seed " << seed;
  }
}

TEST(Cut, SavesAllWhereBytesCostNothing) {
  Layers layers(2);
  Segments segments = findSegments(layers.graph, 100);
  Cut cut = cutSegment(layers.graph, segments, 0, 0);
  EXPECT_TRUE(cut.repeated.empty());
  EXPECT_EQ(cut.savedBytes, 8 + 8 + 1);
}

TEST(Cut, RepeatsWhatIsCheaperThanItsBytes) {
  Layers layers(2);
  Segments segments = findSegments(layers.graph, 100);
  // 8 bytes for 10 operations, of an argument and of a value of 1 byte.
  Cut cut = cutSegment(layers.graph, segments, 0, 2);
  EXPECT_EQ(cut.repeated, (std::vector<unsigned>{0, 2}));
  EXPECT_EQ(cut.savedBytes, 1 + 1);
  EXPECT_EQ(cut.cost, 20);
}

TEST(Cut, NeverRepeatsACollective) {
  Layers layers(2);
  layers.graph.ops[0].mayRepeat = false;
  Cut cut = cutSegment(layers.graph, findSegments(layers.graph, 100), 0, 1e9);
  EXPECT_EQ(cut.repeated, (std::vector<unsigned>{1, 2, 3}));
}

TEST(Cut, RepeatsWhatAPolicySaysWhateverItCosts) {
  Layers layers(2);
  layers.graph.ops[2].mustRepeat = true;
  Cut cut = cutSegment(layers.graph, findSegments(layers.graph, 100), 0, 0);
  EXPECT_EQ(cut.repeated, (std::vector<unsigned>{2}));
}

TEST(Cut, MakesViewsOfWhatIsSavedAgain) {
  Graph graph;
  GraphOp view;
  view.isView = true;
  unsigned x = addOp(graph, {graph.addValue(4)}, 4, 1000);
  unsigned wide = addOp(graph, {x}, 400, 0, view);
  addBackward(graph, {wide}, 1);
  Cut cut = cutSegment(graph, findSegments(graph, 100), 0, 1);
  EXPECT_TRUE(cut.repeated.empty());
  EXPECT_EQ(cut.savedBytes, 4);
}

/// Price times saved bytes plus the operations of `repeated`, where the
/// backward pass then finds all that it reads.
double costOf(const Graph &graph, const Segments &segments, unsigned segment,
              unsigned repeated, double price) {
  std::vector<bool> isNeeded(graph.values.size());
  std::vector<unsigned> open = segments.needed[segment];
  double cost = 0;
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    if (repeated >> op & 1) {
      cost += graph.ops[op].cost;
      for (unsigned operand : graph.ops[op].operands)
        open.push_back(operand);
    }
  for (unsigned value : open) {
    std::optional<unsigned> maker = graph.values[value].maker;
    if (!maker || isNeeded[value] || repeated >> *maker & 1 ||
        graph.values[value].isHeld)
      continue;
    isNeeded[value] = true;
    cost += price * double(graph.values[value].bytes);
  }
  return cost;
}

Graph drawGraph(Random &random) {
  Graph graph;
  std::vector<unsigned> values = {graph.addValue(draw(random, 9))};
  auto any = [&] { return values[draw(random, values.size())]; };
  unsigned forward = 4 + draw(random, 6);
  for (unsigned i = 0; i < forward; ++i) {
    GraphOp op;
    op.mayRepeat = draw(random, 6) != 0;
    values.push_back(
        addOp(graph, {any(), any()}, draw(random, 9), draw(random, 9), op));
    graph.values.back().isHeld = draw(random, 8) == 0;
  }
  for (unsigned i = 1 + draw(random, 3); i-- > 0;)
    addBackward(graph, {any()}, 1);
  return graph;
}

TEST(Cut, IsTheLeastOfAll) {
  unsigned repeating = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Random random(seed);
    Graph graph = drawGraph(random);
    double price = 0.25 * (1 << draw(random, 6));
    Segments segments = findSegments(graph, 2 + draw(random, 6));
    for (unsigned segment = 0; segment < segments.count; ++segment) {
      auto isAllowed = [&](unsigned repeated) {
        for (unsigned op = 0; op < graph.ops.size(); ++op)
          if (repeated >> op & 1 &&
              (segments.ofOp[op] != segment || !segments.mayRepeat(graph, op)))
            return false;
        return true;
      };
      double least = INFINITY;
      for (unsigned repeated = 0; repeated < 1u << graph.ops.size(); ++repeated)
        if (isAllowed(repeated))
          least = std::min(least,
                           costOf(graph, segments, segment, repeated, price));
      Cut cut = cutSegment(graph, segments, segment, price);
      repeating += !cut.repeated.empty() && cut.savedBytes > 0;
      unsigned found = 0;
      for (unsigned op : cut.repeated)
        found |= 1u << op;
      EXPECT_TRUE(isAllowed(found)) << "seed " << seed;
      EXPECT_EQ(costOf(graph, segments, segment, found, price), least)
          << "seed " << seed;
      EXPECT_EQ(cut.cost + price * double(cut.savedBytes), least)
          << "seed " << seed;
    }
  }
  EXPECT_GT(repeating, 40u); // that the random graphs ask for something
}

TEST(Frontier, SavesLessForMore) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Graph graph = drawGraph(random);
    Segments segments = findSegments(graph, 100);
    std::vector<Cut> frontier = findFrontier(graph, segments, 0);
    double slope = 0;
    for (size_t i = 1; i < frontier.size(); ++i) {
      double next = (frontier[i].cost - frontier[i - 1].cost) /
                    double(frontier[i - 1].savedBytes - frontier[i].savedBytes);
      EXPECT_GE(next, slope) << "seed " << seed;
      slope = next;
    }
  }
}

} // namespace

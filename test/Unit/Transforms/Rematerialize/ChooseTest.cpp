// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Transforms/Rematerialize/Choose.h"
#include "Steps.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>

using namespace shoal::remat;
using testing::ElementsAre;

namespace {

TEST(Segments, EndWhereLeastCrosses) {
  Layers layers(8); // large, small, large, small, ...
  Segments segments = findSegments(layers.graph, 4);
  EXPECT_EQ(segments.count, 4u);
  for (unsigned op = 0; op < 16; ++op)
    EXPECT_EQ(segments.ofOp[op], op / 4) << op;
  EXPECT_TRUE(segments.crosses[layers.small[1]]);
  EXPECT_FALSE(segments.crosses[layers.small[0]]);
  EXPECT_FALSE(segments.mayRepeat(layers.graph, 3));
  EXPECT_TRUE(segments.mayRepeat(layers.graph, 2));
}

TEST(Segments, ARematIsOne) {
  Layers layers(8);
  for (unsigned op = 3; op < 9; ++op)
    layers.graph.ops[op].remat = 1;
  Segments segments = findSegments(layers.graph, 100);
  EXPECT_EQ(segments.count, 3u);
  EXPECT_EQ(segments.ofOp[2], 0u);
  EXPECT_EQ(segments.ofOp[3], 1u);
  EXPECT_EQ(segments.ofOp[8], 1u);
  EXPECT_EQ(segments.ofOp[9], 2u);
}

TEST(Schedule, RepeatsAsLateAsCanBe) {
  Layers layers(2);
  std::vector<bool> repeated(layers.graph.ops.size());
  repeated[0] = repeated[1] = repeated[2] = true;
  Schedule schedule = makeSchedule(layers.graph, repeated);
  EXPECT_THAT(schedule.steps, ElementsAre(Step{0}, Step{1}, Step{2}, Step{3},
                                          Step{4}, Step{0, true}, Step{1, true},
                                          Step{2, true}, Step{5}, Step{6}));
  EXPECT_EQ(schedule.repeatedCost, 10 + 100 + 10);
}

/// A large value that is read once while the first of two gradients, which are
/// joined at the end, is made.
static Graph makeJoin(int64_t largeBytes) {
  Graph graph;
  unsigned x = graph.addValue(1);
  unsigned large = addOp(graph, {x}, largeBytes, 1);
  unsigned first = addBackward(graph, {large}, 4);
  unsigned second = addBackward(graph, {x}, 4);
  GraphOp join;
  join.isBackward = join.isJoin = true;
  graph.values[addOp(graph, {first, second}, 8, 0, join)].isHeld = true;
  return graph;
}

TEST(Schedule, PartsAreMadeInPlace) {
  std::vector<bool> repeated(4);
  EXPECT_EQ(makeSchedule(makeJoin(1), repeated).peakBytes, 4 + 4);
  // While the large value is there the second part of the whole is not.
  EXPECT_EQ(makeSchedule(makeJoin(12), repeated).peakBytes, 12 + 4);
  EXPECT_EQ(makeSchedule(makeJoin(5), repeated).peakBytes, 5 + 4);
}

TEST(Schedule, WhatHasPartsIsCopied) {
  Graph graph = makeJoin(1);
  unsigned inner = graph.values.size() - 1;
  graph.values[inner].isHeld = false;
  unsigned third = addBackward(graph, {0}, 8);
  GraphOp join;
  join.isBackward = join.isJoin = true;
  graph.values[addOp(graph, {inner, third}, 16, 0, join)].isHeld = true;
  Schedule schedule = makeSchedule(graph, std::vector<bool>(6));
  EXPECT_EQ(schedule.peakBytes, 8 + 16);
  EXPECT_EQ(schedule.peakStep, 5u);
}

TEST(Schedule, HoldsWhatIsReadLater) {
  Layers layers(2);
  std::vector<bool> repeated(layers.graph.ops.size());
  Schedule all = makeSchedule(layers.graph, repeated);
  // Both large values and what the last layer and the gradient make of them.
  EXPECT_EQ(all.peakBytes, 8 + 8 + 1 + 1);
  repeated[0] = true;
  Schedule less = makeSchedule(layers.graph, repeated);
  EXPECT_EQ(less.peakBytes, 8 + 1 + 1);
}

TEST(Schedule, CountsAViewAsWhatItIsAViewOf) {
  Graph graph;
  GraphOp view;
  view.isView = true;
  unsigned x = addOp(graph, {}, 4, 1);
  unsigned wide = addOp(graph, {x}, 400, 0, view);
  addOp(graph, {}, 2, 1);
  addBackward(graph, {wide}, 1);
  Schedule schedule = makeSchedule(graph, std::vector<bool>(4));
  EXPECT_EQ(schedule.peakBytes, 4 + 2);
}

TEST(Choose, RepeatsNothingWithoutALimit) {
  Layers layers(4);
  EXPECT_EQ(chooseRepeated(layers.graph, std::nullopt).schedule.repeatedCost,
            0);
}

TEST(Choose, KeepsTheLimitAtTheLeastCost) {
  Layers layers(4);
  int64_t most = chooseRepeated(layers.graph, std::nullopt).schedule.peakBytes;
  Choice choice = chooseRepeated(layers.graph, most - 8);
  EXPECT_TRUE(choice.fits);
  EXPECT_LE(choice.schedule.peakBytes, most - 8);
  EXPECT_EQ(choice.schedule.repeatedCost, 10); // one large value
}

TEST(Choose, TellsTheLeastWhereNothingKeepsTheLimit) {
  Layers layers(4);
  Choice choice = chooseRepeated(layers.graph, 1);
  EXPECT_FALSE(choice.fits);
  EXPECT_LT(choice.schedule.peakBytes, 8 + 8);
  EXPECT_FALSE(listHeldAtPeak(layers.graph, choice.schedule).empty());
}

TEST(Choose, RepeatsASegmentAtATime) {
  // Without segments all of the forward pass would be repeated at once, and as
  // much be held as before.
  Layers layers(64);
  Choice choice = chooseRepeated(layers.graph, 200);
  EXPECT_TRUE(choice.fits);
  EXPECT_LT(choice.schedule.peakBytes, 200);
}

TEST(Choose, HoldsLessForLowerLimitsAndCostsMore) {
  Layers layers(32);
  double cost = -1;
  for (int64_t limit : {250, 200, 150, 100, 60}) {
    Choice choice = chooseRepeated(layers.graph, limit);
    EXPECT_TRUE(choice.fits) << limit;
    EXPECT_GE(choice.schedule.repeatedCost, cost) << limit;
    cost = choice.schedule.repeatedCost;
  }
}

} // namespace

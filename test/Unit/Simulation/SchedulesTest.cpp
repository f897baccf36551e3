// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Simulation/Schedules.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace shoal;

static StageTimes evenTimes(int64_t devices, double forward, double backward,
                            double send = 0) {
  return {std::vector<double>(devices, forward),
          std::vector<double>(devices, backward), send};
}

static PipelineTime timeOf(Schedule schedule, PipelineShape shape,
                           const StageTimes &times) {
  support::Result<PipelineTime> time = timePipeline(schedule, shape, times);
  EXPECT_TRUE(time) << time.error().message;
  return *time;
}

static std::string toText(const std::vector<Slot> &slots) {
  std::string text;
  for (const Slot &slot : slots)
    text += (slot.isBackward ? "B" : "F") + std::to_string(slot.microbatch) +
            (slot.chunk ? "'" : "") + " ";
  return text;
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

TEST(SchedulesTest, GPipeGoesBackTheWayItCame) {
  auto orders = listSlots(Schedule::GPipe, {2, 3, 1});
  EXPECT_EQ(toText(orders[0]), "F0 F1 F2 B2 B1 B0 ");
  EXPECT_EQ(toText(orders[1]), "F0 F1 F2 B2 B1 B0 ");
}

TEST(SchedulesTest, OneFOneBGoesBackAsSoonAsItCan) {
  auto orders = listSlots(Schedule::OneFOneB, {2, 4, 1});
  EXPECT_EQ(toText(orders[0]), "F0 F1 B0 F2 B1 F3 B2 B3 ");
  EXPECT_EQ(toText(orders[1]), "F0 B0 F1 B1 F2 B2 F3 B3 ");
}

TEST(SchedulesTest, InterleavedGroupsPassAllChunks) {
  auto orders = listSlots(Schedule::Interleaved, {2, 4, 2});
  EXPECT_EQ(toText(orders[1]),
            "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3 ");
  // The first device goes forward two slots more before it goes back.
  EXPECT_EQ(toText(orders[0]).substr(0, 22), "F0 F1 F0' F1' F2 B0' F");
}

TEST(SchedulesTest, EachMicroBatchGoesBothWaysOnce) {
  for (Schedule schedule :
       {Schedule::GPipe, Schedule::OneFOneB, Schedule::Interleaved}) {
    int64_t v = schedule == Schedule::OneFOneB ? 1 : 3;
    for (auto &order : listSlots(schedule, {4, 8, v})) {
      EXPECT_EQ(order.size(), size_t(2 * 8 * v));
      for (const Slot &slot : order)
        EXPECT_EQ(std::count(order.begin(), order.end(), slot), 1);
    }
  }
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// (m + p - 1) (f + b), by all schedules of one stage a device.
TEST(SchedulesTest, TheBubbleIsTheFormula) {
  for (int64_t p : {1, 2, 4, 7})
    for (int64_t m : {1, 2, 8, 21}) {
      StageTimes times = evenTimes(p, 2, 3);
      PipelineTime gpipe = timeOf(Schedule::GPipe, {p, m, 1}, times);
      EXPECT_DOUBLE_EQ(gpipe.time, 5.0 * (m + p - 1)) << p << " " << m;
      EXPECT_NEAR(gpipe.bubble, bubbleShare({p, m, 1}), 1e-12);
      if (m >= p) {
        PipelineTime other = timeOf(Schedule::OneFOneB, {p, m, 1}, times);
        EXPECT_DOUBLE_EQ(other.time, gpipe.time) << p << " " << m;
      }
    }
}

/// (p - 1) (f + b) / v of waiting.
TEST(SchedulesTest, InterleavingDividesTheBubble) {
  for (int64_t v : {1, 2, 4}) {
    PipelineTime time =
        timeOf(Schedule::Interleaved, {4, 16, v}, evenTimes(4, 4, 8));
    EXPECT_DOUBLE_EQ(time.time, 16 * 12 + 3 * 12.0 / v);
    EXPECT_NEAR(time.bubble, bubbleShare({4, 16, v}), 1e-12);
  }
}

TEST(SchedulesTest, OneFOneBHoldsAsManyAsThereAreDevices) {
  StageTimes times = evenTimes(4, 1, 2);
  EXPECT_EQ(timeOf(Schedule::GPipe, {4, 32, 1}, times).live, 32);
  EXPECT_EQ(timeOf(Schedule::OneFOneB, {4, 32, 1}, times).live, 4);
  // p + (p - 1) / v and one slot that is being worked on.
  EXPECT_EQ(timeOf(Schedule::Interleaved, {4, 32, 2}, times).live, 5.5);
}

TEST(SchedulesTest, TheSlowestStageSetsThePace) {
  StageTimes times = evenTimes(4, 1, 2);
  times.forward[2] = 3;
  times.backward[2] = 6;
  PipelineTime time = timeOf(Schedule::OneFOneB, {4, 100, 1}, times);
  EXPECT_GE(time.time, 100 * 9);
  EXPECT_LE(time.time, 100 * 9 + 3 * 9);
}

TEST(SchedulesTest, TimesRiseWithAllTheyAreMadeOf) {
  std::mt19937 random(1);
  auto pick = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (int number = 0; number < 200; ++number) {
    int64_t p = pick(1, 6), m = p * pick(1, 5), v = pick(1, 3);
    auto schedule = static_cast<Schedule>(pick(0, 2));
    if (schedule == Schedule::OneFOneB)
      v = 1;
    StageTimes times = evenTimes(p, 0, 0, pick(0, 3));
    for (int64_t device = 0; device < p; ++device) {
      times.forward[device] = pick(1, 9);
      times.backward[device] = pick(1, 9);
    }
    StageTimes more = times;
    more.send += 1;
    more.forward[pick(0, p - 1)] += pick(0, 5);
    double before = timeOf(schedule, {p, m, v}, times).time;
    EXPECT_LE(before, timeOf(schedule, {p, m, v}, more).time);
    EXPECT_LT(before, timeOf(schedule, {p, m + p, v}, times).time);
  }
}

TEST(SchedulesTest, OneDeviceWaitsForNobody) {
  PipelineTime time =
      timeOf(Schedule::OneFOneB, {1, 8, 1}, evenTimes(1, 1, 2, 100));
  EXPECT_EQ(time.time, 24);
  EXPECT_EQ(time.bubble, 0);
}

TEST(SchedulesTest, ErrorsSayTheLaw) {
  auto message = [](Schedule schedule, PipelineShape shape, int64_t stages) {
    auto time = timePipeline(schedule, shape, evenTimes(stages, 1, 1));
    return time ? "" : time.error().message;
  };
  EXPECT_EQ(message(Schedule::GPipe, {4, 0, 1}, 4),
            "micro-batches of a pipeline: expected at least 1 but got 0");
  EXPECT_EQ(message(Schedule::OneFOneB, {4, 8, 2}, 4),
            "virtual stages of 1F1B: expected 1 but got 2; with more it is "
            "interleaved");
  EXPECT_EQ(message(Schedule::Interleaved, {4, 6, 2}, 4),
            "micro-batches of an interleaved pipeline: expected a multiple of "
            "4 devices but got 6");
  EXPECT_EQ(message(Schedule::GPipe, {4, 8, 1}, 3),
            "times of stages: expected one for each of 4 devices but got 3");
}

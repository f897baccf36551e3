// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps made by hand on clusters whose prices are round numbers.

#include "shoal/Simulation/Simulate.h"
#include <gtest/gtest.h>

using namespace shoal;

/// A kernel takes 1 us for each MB, a collective 1 us for each kB.
static Cluster makeCluster() {
  Cluster cluster;
  cluster.name = "two";
  cluster.chip.memory = 1e9;
  cluster.chip.memoryBandwidth = 1e12;
  cluster.chip.flops = {{"f32", 1e12}};
  cluster.chip.products.max = 1;
  Level level;
  level.name = "switch";
  level.size = 2;
  level.bandwidth = 1e9;
  cluster.levels = {level};
  return cluster;
}

static Task kernel(double microseconds) {
  Task task;
  task.name = "kernel";
  task.bytes = std::llround(microseconds * 1e6);
  task.work = KernelWork();
  return task;
}

static Task collective(double microseconds, int64_t number = 0,
                       bool isAsync = false) {
  Task task;
  task.name = "all_gather";
  task.bytes = std::llround(microseconds * 1e3);
  CollectiveWork work;
  work.kind = CollectiveKind::AllGather;
  work.number = number;
  work.axes = {{2, 1}};
  work.isAsync = isAsync;
  task.work = work;
  return task;
}

static SimulatedStep run(const Step &step, const Cluster &cluster) {
  support::Result<SimulatedStep> result = simulate(step, 2, cluster);
  EXPECT_TRUE(result) << result.error().message;
  return *result;
}

static double inMicroseconds(Picoseconds time) { return time * 1e-6; }

TEST(SimulateTest, OneStreamIsASum) {
  SimulatedStep step =
      run({kernel(3), collective(2), kernel(1)}, makeCluster());
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 6);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.exposed), 2);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.tasks[2].start), 5);
}

TEST(SimulateTest, CollectivesRunBesideKernels) {
  Cluster cluster = makeCluster();
  cluster.chip.overlaps = true;
  Step step = {collective(5, 0, true), kernel(3), Wait{0}, kernel(1)};
  SimulatedStep result = run(step, cluster);
  EXPECT_DOUBLE_EQ(inMicroseconds(result.time), 6);
  EXPECT_DOUBLE_EQ(inMicroseconds(result.exposed), 2);
  // They take some of the device.
  cluster.chip.overlapTax = 0.5;
  EXPECT_DOUBLE_EQ(inMicroseconds(run(step, cluster).exposed), 0.5);
  // On a machine that sends on no stream of its own they wait.
  EXPECT_DOUBLE_EQ(inMicroseconds(run(step, makeCluster()).time), 9);
}

TEST(SimulateTest, LoopsRepeatTheirBody) {
  auto loop = std::make_shared<Loop>();
  loop->trips = 10;
  loop->body = {kernel(1), collective(1)};
  SimulatedStep step = run({kernel(1), loop, kernel(1)}, makeCluster());
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 22);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.exposed), 10);
  EXPECT_EQ(step.tasks[1].runs, 10);
  EXPECT_EQ(step.tasks[3].runs, 1);
  loop->trips = 0;
  EXPECT_DOUBLE_EQ(inMicroseconds(run({loop}, makeCluster()).time), 0);
}

TEST(SimulateTest, UnknownLoopsAreSaid) {
  auto loop = std::make_shared<Loop>();
  loop->isKnown = false;
  loop->place = "f.py:3:1";
  loop->body = {kernel(1)};
  EXPECT_EQ(run({loop}, makeCluster()).unknownLoops,
            std::vector<std::string>{"f.py:3:1"});
}

TEST(SimulateTest, OfBranchesTheLongestCounts) {
  auto branch = std::make_shared<Branch>();
  branch->branches = {{kernel(1)}, {kernel(4), kernel(1)}, {}};
  SimulatedStep step = run({branch, kernel(1)}, makeCluster());
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 6);
  EXPECT_EQ(step.tasks.size(), 3u);
}

TEST(SimulateTest, TheHostLaunches) {
  Cluster cluster = makeCluster();
  cluster.chip.launch = 2e-6;
  // 2 us each, and the device needs 1: it waits but for the last one.
  SimulatedStep step = run({kernel(1), kernel(1), kernel(1)}, cluster);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 7);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.waiting), 4);
  EXPECT_DOUBLE_EQ(inMicroseconds(run({kernel(9), kernel(9)}, cluster).waiting),
                   2);
}

TEST(SimulateTest, ErrorsNameTheCluster) {
  support::Result<SimulatedStep> result = simulate({}, 8, makeCluster());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "the program is for 8 devices, but two has 2");
}

TEST(SimulateTest, ForecastsSayWhatDoesNotFit) {
  Cluster cluster = makeCluster();
  std::string text;
  llvm::raw_string_ostream os(text);
  printForecast({run({kernel(1)}, cluster), cluster, 2, int64_t(2e9), 0}, os);
  EXPECT_NE(text.find("memory 2.00 GB of 1.00 GB a device: it does not fit"),
            std::string::npos)
      << text;
  for (llvm::StringRef line : llvm::split(text, '\n'))
    EXPECT_LE(line.size(), 100u);
}

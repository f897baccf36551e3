// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps made by hand on clusters whose prices are round numbers.

#include "shoal/Simulation/Simulate.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <chrono>
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

static SimulatedStep run(const Step &step, const Cluster &cluster,
                         const SimulationOptions &options = {}) {
  support::Result<SimulatedStep> result = simulate(step, 2, cluster, options);
  EXPECT_TRUE(result) << result.error().message;
  return *result;
}

static std::string pageOf(const SimulatedStep &step) {
  Cluster cluster = makeCluster();
  std::string text;
  llvm::raw_string_ostream os(text);
  printForecast({step, cluster, 2, 0, 0}, os);
  return text;
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

TEST(SimulateTest, WhatIsWaitedForBeforeACollectiveIsExposed) {
  // The second one is waited for at once, and comes behind the first.
  Cluster cluster = makeCluster();
  cluster.chip.overlaps = true;
  SimulatedStep result =
      run({collective(5, 0, true), kernel(3), collective(2, 1), kernel(1)},
          cluster);
  EXPECT_DOUBLE_EQ(inMicroseconds(result.time), 8);
  EXPECT_DOUBLE_EQ(inMicroseconds(result.exposed), 4);
}

TEST(SimulateTest, CollectivesOfOtherLevelsRunBesideEachOther) {
  Cluster cluster = makeCluster();
  cluster.chip.overlaps = true;
  cluster.levels.push_back(cluster.levels.front());
  cluster.levels.back().name = "rails";
  auto timeOf = [&](AxisSpan axis) {
    Task second = collective(3, 1, true);
    std::get<CollectiveWork>(second.work).axes = {axis};
    SimulatedStep result = run(
        {collective(5, 0, true), second, Wait{1}, kernel(1), Wait{0}}, cluster);
    EXPECT_EQ(result.tasks[1].link, axis.stride == 1 ? 0 : 1);
    return inMicroseconds(result.time);
  };
  // Behind the first over the same links; at once over others.
  EXPECT_DOUBLE_EQ(timeOf({2, 1}), 9);
  EXPECT_DOUBLE_EQ(timeOf({2, 2}), 5);
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
  SimulatedStep step = run({loop}, makeCluster());
  ASSERT_EQ(step.loops.size(), 1u);
  EXPECT_FALSE(step.loops[0].isKnown);
  EXPECT_NE(pageOf(step).find("the loop at f.py:3:1 counts once"),
            std::string::npos);
}

TEST(SimulateTest, OfBranchesTheLongestCounts) {
  auto branch = std::make_shared<Branch>();
  branch->place = "f.py:7:2";
  branch->branches = {{kernel(1)}, {kernel(4), kernel(1)}, {}};
  SimulatedStep step = run({branch, kernel(1)}, makeCluster());
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 6);
  EXPECT_EQ(step.tasks.size(), 3u);
  EXPECT_NE(pageOf(step).find("the branch at f.py:7:2 counts as its longest: "
                              "5.00 us, others from 0.0 ns"),
            std::string::npos)
      << pageOf(step);
}

/// What was before it stays, and runs of loops around it count.
TEST(SimulateTest, BranchesStandInLoops) {
  auto branch = std::make_shared<Branch>();
  branch->branches = {{collective(2)}, {kernel(1)}};
  auto loop = std::make_shared<Loop>();
  loop->trips = 3;
  loop->body = {kernel(1), branch};
  SimulatedStep step = run({kernel(1), loop}, makeCluster());
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 10);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.exposed), 6);
  ASSERT_EQ(step.tasks.size(), 3u);
  EXPECT_EQ(step.tasks[2].runs, 3);
}

TEST(SimulateTest, CollectivesPackWhatTheySend) {
  Task packed = collective(2);
  // Each byte is read and written.
  std::get<CollectiveWork>(packed.work).packedBytes = 500000;
  SimulatedStep step = run({packed}, makeCluster());
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 3);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.tasks[0].packing), 1);
  EXPECT_EQ(step.tasks[0].price.bound, Bound::Link);
  // Where that is most of it, memory is what it is bound by.
  std::get<CollectiveWork>(packed.work).packedBytes = 5000000;
  EXPECT_EQ(run({packed}, makeCluster()).tasks[0].price.bound, Bound::Memory);
}

TEST(SimulateTest, TheMostLoadedDeviceHasMoreOfRaggedWork) {
  Task product, sent = collective(2);
  product.work = ProductWork{"f32", {1, 100, 100, 100}};
  product.isRagged = sent.isRagged = true;
  // Of the rows that there is room for half are there, 1 us of 2.
  product.filled = 0.5;
  auto timeWith = [&](double imbalance) {
    return inMicroseconds(
        run({product, kernel(3), sent}, makeCluster(), {imbalance}).time);
  };
  EXPECT_DOUBLE_EQ(timeWith(1), 1 + 3 + 2);
  EXPECT_DOUBLE_EQ(timeWith(1.5), 1.5 + 3 + 3);
  // No device has more rows than it has room for.
  EXPECT_DOUBLE_EQ(timeWith(4), 2 + 3 + 8);
}

/// Three trips of 2 devices bring 2 micro-batches through.
TEST(SimulateTest, LoopsThatHandOnArePipelines) {
  Task handedOn = collective(1);
  auto &work = std::get<CollectiveWork>(handedOn.work);
  work.kind = CollectiveKind::Permute;
  work.roles = "pp, x";
  auto loop = std::make_shared<Loop>();
  loop->place = "stages.py:3:1";
  loop->trips = 3;
  loop->body = {kernel(1), handedOn};
  SimulatedStep step = run({loop}, makeCluster());
  EXPECT_EQ(step.loops[0].pipelineDevices, 2);
  EXPECT_NE(pageOf(step).find("the pipeline at stages.py:3:1: 2 devices, 3 "
                              "ticks of 2.00 us, 33 % of them waiting"),
            std::string::npos)
      << pageOf(step);
  loop->trips = 1;
  EXPECT_EQ(run({loop}, makeCluster()).loops[0].pipelineDevices, 1);
  std::get<CollectiveWork>(std::get<Task>(loop->body[1]).work).roles = "dp";
  loop->trips = 3;
  EXPECT_EQ(run({loop}, makeCluster()).loops[0].pipelineDevices, 1);
}

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

/// What runs beside each other has lanes of its own; a loop's body stands once.
TEST(SimulateTest, TracesShowStreams) {
  Cluster cluster = makeCluster();
  cluster.chip.overlaps = true;
  Task beside = collective(5, 0, true);
  beside.place = "f.py:1:1";
  auto loop = std::make_shared<Loop>();
  loop->trips = 10;
  loop->body = {kernel(1)};
  SimulatedStep step = run({beside, kernel(3), Wait{0}, loop}, cluster);
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTrace({step, cluster, 2, 0, 0}, os);
  auto parsed = llvm::json::parse(text);
  ASSERT_TRUE(bool(parsed)) << text;
  llvm::StringMap<const llvm::json::Object *> events;
  for (const llvm::json::Value &event :
       *parsed->getAsObject()->getArray("traceEvents"))
    if (event.getAsObject()->getString("ph") == "X")
      events[*event.getAsObject()->getString("name")] = event.getAsObject();
  const llvm::json::Object &sent = *events["all_gather"];
  EXPECT_EQ(sent.getNumber("ts"), 0);
  EXPECT_EQ(sent.getNumber("dur"), 5);
  EXPECT_EQ(sent.getObject("args")->getString("loc"), "f.py:1:1");
  // The last kernel is that of the loop.
  EXPECT_NE(events["kernel"]->getInteger("tid"), sent.getInteger("tid"));
  EXPECT_EQ(events["kernel"]->getNumber("dur"), 1);
  EXPECT_EQ(events["kernel"]->getObject("args")->getInteger("runs"), 10);
  EXPECT_EQ(events["loop, 10 trips"]->getNumber("ts"), 5);
  EXPECT_EQ(events["loop, 10 trips"]->getNumber("dur"), 10);
  EXPECT_EQ(events["step"]->getNumber("dur"), 15);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// All of it, for ten thousand ops, takes some hundredths of a second.
TEST(SimulateTest, LargeStepsAreQuick) {
  Cluster cluster = makeCluster();
  Step step;
  for (int64_t number = 0; number < 5000; ++number) {
    Task task = kernel(1);
    task.place = "model.py:" + std::to_string(number);
    auto branch = std::make_shared<Branch>();
    branch->branches = {{task}, {collective(1)}};
    llvm::append_range(step, Step{task, branch});
  }
  auto begin = std::chrono::steady_clock::now();
  SimulatedStep result = run(step, cluster);
  EXPECT_FALSE(pageOf(result).empty());
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(result.tasks.size(), 10000u);
  EXPECT_LT(seconds.count(), 1);
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

/// As the condition of a loop: what is behind it was not launched in advance.
TEST(SimulateTest, ReadsOfTheHostEmptyTheQueue) {
  Cluster cluster = makeCluster();
  cluster.chip.launch = 2e-6;
  EXPECT_DOUBLE_EQ(inMicroseconds(run({kernel(9), kernel(9)}, cluster).time),
                   2 + 9 + 9);
  SimulatedStep step = run({kernel(9), HostRead(), kernel(9)}, cluster);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.time), 2 + 9 + 2 + 9);
  EXPECT_DOUBLE_EQ(inMicroseconds(step.waiting), 4);
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

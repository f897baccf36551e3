// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each key of a machine file moves some output: what has no effect is no key.

#include "Machine/ClusterKeys.h"
#include "shoal/Machine/ClusterFile.h"
#include "shoal/Simulation/Simulate.h"
#include <gtest/gtest.h>
#include <utility>

using namespace shoal;
using namespace shoal::detail;

namespace {

/// Counts the values of all keys, and changes the one of a number.
class ChangeOne {
public:
  explicit ChangeOne(int64_t place) : place(place) {}

  void text(const char *name, std::string &value, IsRequired) {
    if (isIt(name))
      value = "else";
  }
  void flag(const char *name, bool &value) {
    if (isIt(name))
      value = !value;
  }
  void number(const char *name, double &value, Law law,
              IsRequired = IsRequired::No) {
    if (isIt(name))
      value = change(value, law);
  }
  void number(const char *name, int64_t &value, Law,
              IsRequired = IsRequired::No) {
    if (isIt(name))
      value = value * 2;
  }
  void numbers(const char *name, std::array<double, 3> &values, Law law) {
    for (double &value : values)
      number(name, value, law);
  }
  void curve(const char *name, Curve &curve, Law law) {
    for (auto &[x, y] : curve)
      number(name, y, law);
  }
  template <typename Value, typename Names>
  void choice(const char *name, Value &value, const Names &names) {
    if (!isIt(name))
      return;
    // A torus for a switch, and a switch for a torus.
    auto *at = llvm::find_if(
        names, [&](const auto &each) { return each.second == value; });
    value = names[(at - std::begin(names) + 2) % std::size(names)].second;
  }
  template <typename Visit>
  void table(const char *name, Visit visit) {
    std::string outer = std::exchange(prefix, prefix + name + ".");
    visit(*this);
    prefix = outer;
  }
  void byName(const char *name, std::map<std::string, double> &values,
              Law law) {
    for (auto &[key, value] : values)
      number(name, value, law);
  }
  void byKind(const char *name, std::map<CollectiveKind, double> &values,
              Law law) {
    for (auto &[key, value] : values)
      number(name, value, law);
  }
  template <typename T, typename Visit>
  void list(const char *name, std::vector<T> &items, Visit visit) {
    for (T &item : items)
      table(name, [&](ChangeOne &inner) { visit(inner, item); });
  }

  int64_t count() const { return seen; }
  /// "level.bw".
  const std::string &changed() const { return name; }

private:
  bool isIt(const char *key) {
    if (seen++ != place)
      return false;
    name = prefix + key;
    return true;
  }

  static double change(double value, Law law) {
    return law == Law::Share ? value / 2 : value * 2 + 1e-7;
  }

  int64_t place, seen = 0;
  std::string prefix, name;
};

} // namespace

/// Every key has a value, none the one that a missing key would have.
static Cluster makeCluster() {
  support::Result<Cluster> cluster = parseCluster(R"(name = "all keys"
source = "made up"
[chip]
memory = 80e9
reserved = 1e9
memory_bw = 3e12
memory_eff = 0.8
memory_points = [[1e3, 4.0], [1e6, 1.0]]
flops = { bf16 = 9e14, f32 = 6e13 }
gemm = { max = 0.8, half = [48, 40, 256], tile = [64, 32, 16] }
groups = 0.7
attention = 0.4
elementwise = 1e12
row = 1e-9
kernel = 2e-6
launch = 3e-6
overlaps = true
overlap_tax = 0.2
[[level]]
name = "switch"
size = 4
kind = "switch"
bw = 4e11
bw_eff = { all_gather = 0.8, reduce_scatter = 0.6, all_reduce = 0.75, all_to_all = 0.7, permute = 0.9 }
bw_points = [[1e3, 0.2], [1e6, 0.9]]
nvls = 1.3
alpha = 1e-6
message = 5e-7
[[level.measured]]
kind = "all_gather"
members = 2
seconds = [[1e3, 1e-6], [1e6, 1e-4]]
[[level]]
name = "pod"
size = 16
kind = "torus"
bw = 5e10
wrap = true
alpha = 2e-6
message = 3e-7
)",
                                                  "all.toml");
  EXPECT_TRUE(cluster) << cluster.error().message;
  return *cluster;
}

//===----------------------------------------------------------------------===//
// A step with everything
//===----------------------------------------------------------------------===//

static Task makeTask(int64_t bytes, decltype(Task::work) work = KernelWork()) {
  Task task;
  task.name = "op";
  task.bytes = bytes;
  task.work = std::move(work);
  return task;
}

static Task exchange(CollectiveKind kind, AxisSpan axis, int64_t bytes) {
  CollectiveWork work;
  work.kind = kind;
  work.axes = {axis};
  return makeTask(bytes, work);
}

static Step makeStep() {
  Step step = {
      makeTask(1000, ProductWork{"bf16", {1, 100, 100, 100}}),
      makeTask(1000, ProductWork{"f32", {3, 1000, 1000, 1000}}),
      makeTask(1000, ProductWork{"f32", {4, 500, 500, 500, true}}),
      makeTask(500000, KernelWork{0, 0}),
      makeTask(1 << 30, KernelWork{0, 1000}),
      makeTask(8, KernelWork{1e9, 0}),
  };
  for (CollectiveKind kind : kCollectiveKinds)
    for (AxisSpan axis : {AxisSpan{4, 1}, AxisSpan{2, 1}, AxisSpan{16, 4}})
      for (int64_t bytes : {1000, 50000, 100000000})
        step.push_back(exchange(kind, axis, bytes));
  Task beside = exchange(CollectiveKind::AllToAll, {4, 1}, 100000000);
  std::get<CollectiveWork>(beside.work).isAsync = true;
  llvm::append_range(step, Step{beside, makeTask(1 << 30), Wait{0}});
  return step;
}

/// All that is told of it.
static std::string tell(const Cluster &cluster) {
  support::Result<SimulatedStep> step =
      simulate(makeStep(), cluster.devices(), cluster);
  EXPECT_TRUE(step) << step.error().message;
  Forecast forecast{*step, cluster, 64, 1 << 20, 1e12};
  std::string text;
  llvm::raw_string_ostream os(text);
  printForecast(forecast, os);
  writeTrace(forecast, os);
  os << llvm::json::Value(toJson(forecast));
  os << simulate({}, int64_t(1) << 40, cluster).error().message;
  // No kernel of the compiler is attention in one; planners price it.
  os << priceAttention(cluster.chip, "bf16", 1e9, 0).time;
  return text;
}

/// Of each key one value at least: `wrap` is a torus's alone, `nvls` a
/// switch's.
TEST(MachineKeysTest, EachKeyMovesSomeOutput) {
  Cluster cluster = makeCluster();
  std::string before = tell(cluster);
  ChangeOne all(-1);
  visitKeys(all, cluster);
  std::map<std::string, bool> moves;
  for (int64_t place = 0; place < all.count(); ++place) {
    Cluster other = cluster;
    ChangeOne one(place);
    visitKeys(one, other);
    moves[one.changed()] |= before != tell(other);
  }
  EXPECT_GE(moves.size(), 29u);
  for (auto &[key, isMoved] : moves)
    EXPECT_TRUE(isMoved) << key;
}

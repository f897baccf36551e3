// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Schedule.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal::remat;

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

/// `repeated` with the views of what is repeated.
static std::vector<bool> withViews(const Graph &graph,
                                   std::vector<bool> repeated) {
  for (auto [number, op] : llvm::enumerate(graph.ops))
    if (op.isView)
      repeated[number] =
          !op.isBackward && llvm::any_of(op.operands, [&](unsigned operand) {
            std::optional<unsigned> maker = graph.values[operand].maker;
            return maker && repeated[*maker];
          });
  return repeated;
}

namespace {

class Scheduler {
public:
  Scheduler(const Graph &graph, const std::vector<bool> &repeated)
      : graph(graph), repeated(withViews(graph, repeated)),
        isMade(graph.ops.size()) {}

  std::vector<Step> run() {
    for (unsigned op = 0; op < graph.ops.size(); ++op) {
      if (graph.ops[op].isBackward)
        makeOperands(op);
      steps.push_back({op, false});
    }
    return std::move(steps);
  }

private:
  /// The maker of the operand, where a backward op reads it of a repeat.
  std::optional<unsigned> missing(unsigned operand) const {
    std::optional<unsigned> maker = graph.values[operand].maker;
    return maker && repeated[*maker] && !isMade[*maker] ? maker : std::nullopt;
  }
  void makeOperands(unsigned op);

  const Graph &graph;
  std::vector<bool> repeated, isMade;
  std::vector<Step> steps;
};

} // namespace

/// Repeats what is missing for the op, operands first.
void Scheduler::makeOperands(unsigned op) {
  std::vector<std::pair<unsigned, size_t>> path = {{op, 0}};
  while (!path.empty()) {
    auto &[at, next] = path.back();
    const GraphOp &current = graph.ops[at];
    if (next < current.operands.size()) {
      if (std::optional<unsigned> maker = missing(current.operands[next++]))
        path.emplace_back(*maker, 0);
      continue;
    }
    if (at != op && !isMade[at]) {
      isMade[at] = true;
      steps.push_back({at, true});
    }
    path.pop_back();
  }
}

//===----------------------------------------------------------------------===//
// What is held
//===----------------------------------------------------------------------===//

namespace {

/// From which step to which the values are held, [original, repeat] of each;
/// nothing of what takes no memory.
class Lives {
public:
  struct Life {
    size_t first = 0, last = 0;
    bool exists = false;
  };

  Lives(const Graph &graph, llvm::ArrayRef<Step> steps);

  template <typename Fn>
  void forEach(Fn fn) const {
    for (unsigned value = 0; value < lives.size(); ++value)
      for (bool isRepeat : {false, true})
        if (const Life &life = lives[value][isRepeat]; life.exists)
          fn(Instance{value, isRepeat}, life);
  }

private:
  void read(unsigned value, bool ofRepeat, size_t place);

  const Graph &graph;
  std::vector<std::array<Life, 2>> lives;
};

} // namespace

Lives::Lives(const Graph &graph, llvm::ArrayRef<Step> steps)
    : graph(graph), lives(graph.values.size()) {
  for (auto [place, step] : llvm::enumerate(steps)) {
    const GraphOp &op = graph.ops[step.op];
    if (op.isView && !op.isBackward) {
      // Noted, for its readers; it reads nothing itself.
      for (unsigned value : op.results)
        lives[value][step.isRepeat].exists = true;
      continue;
    }
    for (unsigned operand : op.operands)
      read(operand, step.isRepeat || op.isBackward, place);
    size_t first = place + (op.writesOver ? 1 : 0);
    for (unsigned value : op.results)
      lives[value][step.isRepeat] = {first, first, true};
  }
  for (unsigned value = 0; value < lives.size(); ++value)
    if (std::optional<unsigned> maker = graph.values[value].maker;
        maker && graph.ops[*maker].isView)
      lives[value] = {};
}

/// Repeats and backward ops read the repeat, where there is one.
void Lives::read(unsigned value, bool ofRepeat, size_t place) {
  std::optional<unsigned> maker = graph.values[value].maker;
  if (!maker)
    return;
  bool isRepeat = ofRepeat && lives[value][1].exists;
  const GraphOp &op = graph.ops[*maker];
  if (!op.isView) {
    Life &life = lives[value][isRepeat];
    life.last = std::max(life.last, place);
    return;
  }
  for (auto [i, operand] : llvm::enumerate(op.operands))
    if (op.operands.size() != op.results.size() || op.results[i] == value)
      read(operand, isRepeat || op.isBackward, place);
}

static void findPeak(const Graph &graph, Schedule &schedule) {
  std::vector<int64_t> changes(schedule.steps.size() + 2);
  Lives(graph, schedule.steps)
      .forEach([&](const Instance &instance, const Lives::Life &life) {
        changes[life.first] += graph.values[instance.value].bytes;
        changes[life.last + 1] -= graph.values[instance.value].bytes;
      });
  int64_t held = 0;
  for (size_t place = 0; place < schedule.steps.size(); ++place) {
    held += changes[place];
    int64_t now = held + graph.ops[schedule.steps[place].op].innerBytes;
    if (now > schedule.peakBytes) {
      schedule.peakBytes = now;
      schedule.peakStep = place;
    }
  }
}

Schedule shoal::remat::makeSchedule(const Graph &graph,
                                    const std::vector<bool> &repeated) {
  Schedule schedule;
  schedule.steps = Scheduler(graph, repeated).run();
  for (const Step &step : schedule.steps)
    if (step.isRepeat)
      schedule.repeatedCost += graph.ops[step.op].cost;
  findPeak(graph, schedule);
  return schedule;
}

std::vector<Instance> shoal::remat::listHeldAtPeak(const Graph &graph,
                                                   const Schedule &schedule) {
  std::vector<Instance> held;
  Lives(graph, schedule.steps)
      .forEach([&](const Instance &instance, const Lives::Life &life) {
        if (life.first <= schedule.peakStep && schedule.peakStep <= life.last &&
            graph.values[instance.value].bytes > 0)
          held.push_back(instance);
      });
  llvm::sort(held, [&](const Instance &a, const Instance &b) {
    return std::tuple(-graph.values[a.value].bytes, a.value, a.isRepeat) <
           std::tuple(-graph.values[b.value].bytes, b.value, b.isRepeat);
  });
  return held;
}

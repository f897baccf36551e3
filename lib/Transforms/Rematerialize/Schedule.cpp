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

/// Bytes that are held from one step to another, both included.
struct Life {
  int64_t first = 0, last = 0, bytes = 0;
};

/// How much is held at each step.
class HeldProfile {
public:
  explicit HeldProfile(size_t steps) : changes(steps + 1) {}

  void add(const Life &life) {
    changes[life.first] += life.bytes;
    changes[life.last + 1] -= life.bytes;
  }
  /// The first step that holds most, and how much.
  std::pair<size_t, int64_t> peak() const;

private:
  llvm::SmallVector<int64_t> changes;
};

/// From which step to which the values are held, [original, repeat] of each;
/// nothing of what takes no memory.
class Lives {
public:
  Lives(const Graph &graph, llvm::ArrayRef<Step> steps);

  template <typename Fn>
  void forEach(Fn fn) const {
    for (unsigned value = 0; value < lives.size(); ++value)
      for (bool isRepeat : {false, true})
        if (const Held &life = lives[value][isRepeat]; life.exists)
          fn(Instance{value, isRepeat}, lifeOf({value, isRepeat}));
  }

  /// Parts are made in what they are joined in, as the plan of memory does.
  void joinParts();
  /// What is held at each step.
  HeldProfile profile(llvm::ArrayRef<Step> steps) const;

private:
  struct Held {
    size_t first = 0, last = 0;
    bool exists = false;
    /// Of its bytes, those of the parts that are made in it.
    int64_t partBytes = 0;
  };
  /// An op that joins its operands, and what these are or are views of.
  struct Join {
    Instance whole;
    size_t place;
    llvm::SmallVector<Instance> parts;
  };

  template <typename Fn>
  void visitRoots(unsigned value, bool ofRepeat, Fn fn) const;
  void addJoin(const Step &step, size_t place);
  void keepOwnParts(Join &join) const;
  Held &heldOf(const Instance &instance) {
    return lives[instance.value][instance.isRepeat];
  }
  Life lifeOf(const Instance &instance) const {
    const Held &held = lives[instance.value][instance.isRepeat];
    return {int64_t(held.first), int64_t(held.last),
            graph.values[instance.value].bytes - held.partBytes};
  }

  const Graph &graph;
  std::vector<std::array<Held, 2>> lives;
  std::vector<Join> joins;
};

} // namespace

std::pair<size_t, int64_t> HeldProfile::peak() const {
  int64_t held = 0, most = 0;
  size_t step = 0;
  for (auto [at, change] : llvm::enumerate(changes)) {
    held += change;
    if (held > most) {
      most = held;
      step = at;
    }
  }
  return {step, most};
}

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
      visitRoots(operand, step.isRepeat || op.isBackward,
                 [&, place = place](const Instance &root) {
                   Held &held = heldOf(root);
                   held.last = std::max(held.last, place);
                 });
    size_t first = place + (op.writesOver ? 1 : 0);
    for (unsigned value : op.results)
      lives[value][step.isRepeat] = {first, first, true, 0};
    if (op.isJoin)
      addJoin(step, place);
  }
  for (unsigned value = 0; value < lives.size(); ++value)
    if (std::optional<unsigned> maker = graph.values[value].maker;
        maker && graph.ops[*maker].isView)
      lives[value] = {};
}

/// What is read where the value is: itself, or what it is a view of. Repeats
/// and backward ops read the repeat, where there is one.
template <typename Fn>
void Lives::visitRoots(unsigned value, bool ofRepeat, Fn fn) const {
  std::optional<unsigned> maker = graph.values[value].maker;
  if (!maker)
    return;
  bool isRepeat = ofRepeat && lives[value][1].exists;
  const GraphOp &op = graph.ops[*maker];
  if (!op.isView) {
    fn(Instance{value, isRepeat});
    return;
  }
  for (auto [i, operand] : llvm::enumerate(op.operands))
    if (op.operands.size() != op.results.size() || op.results[i] == value)
      visitRoots(operand, isRepeat || op.isBackward, fn);
}

void Lives::addJoin(const Step &step, size_t place) {
  const GraphOp &op = graph.ops[step.op];
  // What lies in an argument's memory is not joined in place.
  if (graph.values[op.results.front()].bytes == 0)
    return;
  Join join{{op.results.front(), step.isRepeat}, place, {}};
  for (unsigned operand : op.operands)
    visitRoots(
        operand, step.isRepeat || op.isBackward, [&](const Instance &root) {
          if (graph.values[root.value].bytes == graph.values[operand].bytes)
            join.parts.push_back(root);
        });
  joins.push_back(std::move(join));
}

/// Drops those that are read otherwise behind the join or in it.
void Lives::keepOwnParts(Join &join) const {
  llvm::erase_if(join.parts, [&](const Instance &part) {
    const Held &held = lives[part.value][part.isRepeat];
    return held.last != join.place || llvm::count(join.parts, part) > 1;
  });
}

/// What has parts is none of another one.
void Lives::joinParts() {
  for (Join &join : joins)
    keepOwnParts(join);
  llvm::SmallVector<Instance> wholes;
  for (const Join &join : joins)
    if (!join.parts.empty())
      wholes.push_back(join.whole);
  for (Join &join : joins) {
    Held &whole = heldOf(join.whole);
    for (const Instance &part : join.parts) {
      if (llvm::is_contained(wholes, part))
        continue;
      heldOf(part).last = whole.last;
      whole.partBytes += graph.values[part.value].bytes;
    }
  }
}

HeldProfile Lives::profile(llvm::ArrayRef<Step> steps) const {
  HeldProfile held(steps.size() + 1);
  forEach([&](const Instance &, const Life &life) { held.add(life); });
  for (auto [place, step] : llvm::enumerate(steps))
    held.add({int64_t(place), int64_t(place), graph.ops[step.op].innerBytes});
  return held;
}

Schedule shoal::remat::makeSchedule(const Graph &graph,
                                    const std::vector<bool> &repeated) {
  Schedule schedule;
  schedule.steps = Scheduler(graph, repeated).run();
  for (const Step &step : schedule.steps)
    if (step.isRepeat)
      schedule.repeatedCost += graph.ops[step.op].cost;
  Lives lives(graph, schedule.steps);
  lives.joinParts();
  std::tie(schedule.peakStep, schedule.peakBytes) =
      lives.profile(schedule.steps).peak();
  return schedule;
}

std::vector<Instance> shoal::remat::listHeldAtPeak(const Graph &graph,
                                                   const Schedule &schedule) {
  std::vector<Instance> held;
  Lives lives(graph, schedule.steps);
  lives.joinParts();
  auto peak = int64_t(schedule.peakStep);
  lives.forEach([&](const Instance &instance, const Life &life) {
    if (life.first <= peak && peak <= life.last && life.bytes > 0)
      held.push_back(instance);
  });
  llvm::sort(held, [&](const Instance &a, const Instance &b) {
    return std::tuple(-graph.values[a.value].bytes, a.value, a.isRepeat) <
           std::tuple(-graph.values[b.value].bytes, b.value, b.isRepeat);
  });
  return held;
}

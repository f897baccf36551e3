// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StridedPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

bool isPrefix(ArrayRef<AxisId> list, ArrayRef<AxisId> whole) {
  return list.size() <= whole.size() && whole.take_front(list.size()) == list;
}

/// `sharding` without axes of one device, which split nothing and sum nothing,
/// where `other` differs from it.
Sharding withoutTrivial(Sharding sharding, const Sharding &other,
                        const Mesh &mesh) {
  auto isTrivial = [&](AxisId axis) { return mesh.axes[axis].size == 1; };
  for (auto [axes, others] : llvm::zip_equal(sharding.dims, other.dims))
    if (axes != others)
      llvm::erase_if(axes, isTrivial);
  llvm::erase_if(sharding.partial, isTrivial);
  return sharding;
}

/// On a mesh ["x" = 2, "y" = 3, "z" = 2], a dimension of n rows with `before`
/// at the source and `after` at the target is cut into these digits:
///
///        before -> after, n               digits
///   (D1) {"x"} -> {"x"}, 7                7: {"x"} -> {"x"}
///   (D2) {"x"} -> {}, 7: uneven blocks    none, no plan
///   (D3) {"x", "y"} -> {"y"}, 12: at one  none, no plan
///        place two axes
///   (D4) {"y"} -> {"y", "x"}, 24          3: {"y"} -> {"y"}, 2: {} -> {"x"},
///                                         rest 4: {} -> {}
///
/// Then each step, only where it changes something, does this with an axis:
///
///        the axis                                     digit before -> behind
///   (S1) slice: splits the target, idle at the        {} -> its place
///        source
///   (S2) slice: idle at both ends, if that helps      {} -> a rest
///   (S3) reduce_scatter: its addends are summed and   partial -> its place
///        it splits the target
///   (S4) reduce_scatter: its addends are summed, it   partial -> a rest
///        does not
///   (S5) all_reduce: found no rest that it divides    partial -> {}
///   (S6) all_to_all: is elsewhere than at the target  a place -> its place
///   (S7) all_gather: is not at the target             a place or rest -> {}
///   (S8) to_partial: is partial at the target         {} -> partial
class StridedPlanner {
public:
  StridedPlanner(const ReshardProblem &problem, const Sharding &source,
                 const Sharding &target)
      : problem(problem), mesh(problem.mesh), givenSource(source),
        givenTarget(target), source(withoutTrivial(source, target, mesh)),
        target(withoutTrivial(target, source, mesh)) {
    assert(!problem.targetMesh && "there is one device order");
  }

  std::optional<ReshardPlan> run() {
    for (size_t dim = 0; dim < problem.shape.size(); ++dim)
      if (!cut(dim))
        return std::nullopt;
    from.partial = source.partial;
    to.partial = target.partial;
    state = from;
    slice();
    reduceScatter();
    allReduce();
    allToAll();
    emit(StepKind::AllGather, gathered()); // (S7)
    emit(StepKind::ToPartial, to);         // (S8)
    joinDigits();
    return describe();
  }

private:
  /// A dimension of the shape in digits.
  struct Digit {
    /// The dimension that it is a part of.
    size_t dim;
    int64_t size;
    /// Whether axes may stand here that neither end puts here.
    bool isRest;
  };

  //===--------------------------------------------------------------------===//
  // Digits
  //===--------------------------------------------------------------------===//

  void addDigit(Digit digit, AxisList before, AxisList after) {
    digits.push_back(digit);
    from.dims.push_back(std::move(before));
    to.dims.push_back(std::move(after));
  }

  /// Adds the digits of a dimension; whether there are any.
  bool cut(size_t dim) {
    const AxisList &before = source.dims[dim], &after = target.dims[dim];
    const AxisList &longer = before.size() > after.size() ? before : after;
    int64_t n = problem.shape[dim], shards = mesh.sizeOf(longer);
    bool isEven = n != 0 && n % shards == 0;
    if (!isEven && before == after) { // (D1)
      addDigit({dim, n, /*isRest=*/false}, before, after);
      return true;
    }
    if (!isEven) // (D2)
      return false;
    if (!isPrefix(before, longer) || !isPrefix(after, longer)) // (D3)
      return false;
    auto only = [](const AxisList &axes, size_t i) { // (D4)
      return i < axes.size() ? AxisList{axes[i]} : AxisList{};
    };
    for (auto [i, axis] : llvm::enumerate(longer))
      addDigit({dim, mesh.axes[axis].size, /*isRest=*/false}, only(before, i),
               only(after, i));
    if (int64_t rest = n / shards; rest > 1 || longer.empty())
      addDigit({dim, rest, /*isRest=*/true}, {}, {});
    return true;
  }

  /// Makes one of neighbouring digits whose axes need not be apart.
  void joinDigits() {
    for (size_t i = 0; i + 1 < digits.size();) {
      if (!canJoin(i)) {
        ++i;
        continue;
      }
      digits[i].size *= digits[i + 1].size;
      digits.erase(digits.begin() + i + 1);
      for (Sharding *sharding : allStates()) {
        sharding->dims[i].append(sharding->dims[i + 1]);
        sharding->dims.erase(sharding->dims.begin() + i + 1);
      }
    }
  }

  /// Blocks of digit i and the next as one must be contiguous, and every step
  /// must either add minor axes to them or take some away.
  bool canJoin(size_t i) {
    if (digits[i].dim != digits[i + 1].dim)
      return false;
    AxisList last;
    for (const Sharding *sharding : allStates()) {
      AxisList joined = sharding->dims[i];
      bool isFull = mesh.sizeOf(joined) == digits[i].size;
      if (!isFull && !sharding->dims[i + 1].empty())
        return false;
      joined.append(sharding->dims[i + 1]);
      if (sharding != &from && !isPrefix(joined, last) &&
          !isPrefix(last, joined))
        return false;
      last = std::move(joined);
    }
    return true;
  }

  SmallVector<Sharding *> allStates() {
    SmallVector<Sharding *> states = {&from};
    for (PlannedStep &step : plan)
      states.push_back(&step.result);
    return states;
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  void emit(StepKind step, Sharding next) {
    if (next == state)
      return;
    state = std::move(next);
    plan.push_back({step, state});
  }

  bool isReduced(AxisId axis) const {
    return llvm::is_contained(source.partial, axis) &&
           !llvm::is_contained(target.partial, axis);
  }

  /// Puts `axis` on a digit that both ends leave free and that it divides.
  bool placeOnRest(Sharding &next, AxisId axis) const {
    for (auto [digit, axes] : llvm::zip_equal(digits, next.dims)) {
      if (!digit.isRest ||
          digit.size % (mesh.sizeOf(axes) * mesh.axes[axis].size) != 0)
        continue;
      axes.push_back(axis);
      return true;
    }
    return false;
  }

  /// Over idle axes that the target does not use either, less is reduced on
  /// each device and more gathered at the end. The sum of both is less if more
  /// than two addends meet, or if some of what is gathered travels anyway.
  bool doIdleAxesHelp() const {
    int64_t addends = 1;
    for (AxisId axis : source.partial)
      if (isReduced(axis))
        addends *= mesh.axes[axis].size;
    return addends > 2 ||
           llvm::any_of(llvm::zip_equal(from.dims, to.dims), [&](auto pair) {
             auto &[before, after] = pair;
             return llvm::any_of(after, [&](AxisId axis) {
               return !llvm::is_contained(before, axis) &&
                      !llvm::is_contained(source.partial, axis) &&
                      source.uses(axis);
             });
           });
  }

  void slice() {
    Sharding next = state;
    for (auto [axes, wanted] : llvm::zip_equal(next.dims, to.dims))
      for (AxisId axis : wanted)
        if (!source.uses(axis)) // (S1)
          axes.push_back(axis);
    if (doIdleAxesHelp()) // (S2)
      for (AxisId axis = 0; axis < mesh.axes.size(); ++axis)
        if (!source.uses(axis) && !target.uses(axis) &&
            mesh.axes[axis].size > 1)
          placeOnRest(next, axis);
    emit(StepKind::Slice, std::move(next));
  }

  void reduceScatter() {
    Sharding next = state;
    AxisList scattered;
    for (auto [axes, wanted] : llvm::zip_equal(next.dims, to.dims))
      for (AxisId axis : wanted)
        if (isReduced(axis)) { // (S3)
          axes.push_back(axis);
          scattered.push_back(axis);
        }
    for (AxisId axis : source.partial)
      if (isReduced(axis) && !llvm::is_contained(scattered, axis) &&
          placeOnRest(next, axis)) // (S4)
        scattered.push_back(axis);
    llvm::erase_if(next.partial, [&](AxisId axis) {
      return llvm::is_contained(scattered, axis);
    });
    emit(StepKind::ReduceScatter, std::move(next));
  }

  /// (S5)
  void allReduce() {
    Sharding next = state;
    llvm::erase_if(next.partial, [&](AxisId axis) { return isReduced(axis); });
    emit(StepKind::AllReduce, std::move(next));
  }

  /// (S6). The places are free: all axes that were not in the source have
  /// theirs.
  void allToAll() {
    Sharding next = state;
    for (auto [d, wanted] : llvm::enumerate(to.dims))
      for (AxisId axis : wanted) {
        if (llvm::is_contained(next.dims[d], axis))
          continue;
        for (AxisList &axes : next.dims)
          llvm::erase(axes, axis);
        next.dims[d].push_back(axis);
      }
    emit(StepKind::AllToAll, std::move(next));
  }

  Sharding gathered() const {
    Sharding next = to;
    next.partial = state.partial;
    return next;
  }

  /// The steps, between the two changes of shape where there is another one.
  ReshardPlan describe() {
    SmallVector<int64_t, 0> shape;
    for (const Digit &digit : digits)
      shape.push_back(digit.size);
    if (ArrayRef(shape) == problem.shape && from == givenSource &&
        to == givenTarget)
      return plan;
    for (PlannedStep &step : plan)
      step.shape = shape;
    plan.insert(plan.begin(), {StepKind::Reshape, from, false, shape});
    plan.push_back({StepKind::Reshape, givenTarget});
    return plan;
  }

  const ReshardProblem &problem;
  const Mesh &mesh;
  const Sharding &givenSource, &givenTarget;
  const Sharding source, target;
  SmallVector<Digit> digits;
  /// The two ends, and where the value is so far, on the digits.
  Sharding from, to, state;
  ReshardPlan plan;
};

} // namespace

std::optional<ReshardPlan> shoal::planStrided(const ReshardProblem &problem,
                                              const Sharding &source,
                                              const Sharding &target) {
  return StridedPlanner(problem, source, target).run();
}

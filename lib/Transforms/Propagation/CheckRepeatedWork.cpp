// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckRepeatedWork.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

namespace {
/// Operations of an op of the problem on all devices, in all its runs.
struct Repeat {
  unsigned op;
  double computed;
  /// How many devices compute the same.
  double copies;
  double repeated() const { return computed - computed / copies; }
};
} // namespace

/// How many devices do the same of an op. That shards are filled up, where rows
/// do not divide, repeats nothing; along manual axes each device has work of
/// its own.
static double copiesOf(const AssignmentProblem &problem, unsigned op,
                       const Assignment &assignment) {
  double split = problem.mesh.sizeOf(problem.ops[op].manualAxes);
  for (const AxisList &axes : assignment.ops[op].axes)
    split *= problem.mesh.sizeOf(axes);
  return problem.mesh.numDevices() / split;
}

static SmallVector<Repeat> findWork(const ExtractedProblem &extracted,
                                    const Assignment &assignment) {
  SmallVector<Repeat> work;
  for (unsigned op = 0; op < extracted.problem.ops.size(); ++op)
    if (assignment.flops[op] > 0)
      work.push_back({op, assignment.flops[op],
                      copiesOf(extracted.problem, op, assignment)});
  return work;
}

/// Ops that devices repeat, the worst first.
static SmallVector<Repeat> findRepeats(const ExtractedProblem &extracted,
                                       ArrayRef<Repeat> work) {
  SmallVector<Repeat> repeats;
  llvm::copy_if(work, std::back_inserter(repeats), [&](const Repeat &repeat) {
    return extracted.ops[repeat.op].op && repeat.copies > 1;
  });
  llvm::sort(repeats, [](const Repeat &a, const Repeat &b) {
    return std::pair(b.repeated(), a.op) < std::pair(a.repeated(), b.op);
  });
  return repeats;
}

/// "2.5", of how many times an even split's operations are computed.
static std::string times(double ratio) {
  return llvm::formatv("{0}", llvm::format("%.3g", ratio));
}

static std::string describe(const ExtractedProblem &extracted,
                            const Repeat &repeat) {
  return llvm::formatv("{0} is computed {1} x an even split",
                       describeOp(extracted.ops[repeat.op].op),
                       times(repeat.copies));
}

/// The axes over which the op is repeated, as far as annotations reach none of
/// its operands by them.
static AxisList unannotatedAxes(const AssignmentProblem &problem, unsigned op,
                                const Assignment &assignment) {
  AxisList axes;
  for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis) {
    bool splits = llvm::is_contained(problem.ops[op].manualAxes, axis) ||
                  llvm::any_of(assignment.ops[op].axes, [&](const auto &list) {
                    return llvm::is_contained(list, axis);
                  });
    bool isHinted = llvm::any_of(problem.ops[op].operands, [&](unsigned value) {
      return assignment.hints.at(value, axis).state == AxisHint::Split;
    });
    if (!splits && !isHinted && problem.mesh.axes[axis].size > 1)
      axes.push_back(axis);
  }
  return axes;
}

/// Says that nobody asked for the work to be split, where that is so: an
/// annotation would be the way to.
static void noteUnannotated(const ExtractedProblem &extracted, unsigned op,
                            const Assignment &assignment,
                            InFlightDiagnostic &diagnostic) {
  AxisList axes = unannotatedAxes(extracted.problem, op, assignment);
  if (axes.empty())
    return;
  Operation *worst = extracted.ops[op].op;
  diagnostic.attachNote(worst->getLoc())
      << "no annotation splits an operand of it over "
      << toString(
             toAxesAttr(axes, extracted.problem.mesh, worst->getContext()));
}

static InFlightDiagnostic emit(const ExtractedProblem &extracted,
                               const Assignment &assignment,
                               ArrayRef<Repeat> repeats, bool isError) {
  constexpr size_t kMostNotes = 2;
  Operation *worst = extracted.ops[repeats[0].op].op;
  InFlightDiagnostic diagnostic =
      isError ? worst->emitError() : worst->emitWarning();
  diagnostic << describe(extracted, repeats[0]);
  noteUnannotated(extracted, repeats[0].op, assignment, diagnostic);
  // Layers of one function are repeated alike, at one place: each note once.
  auto key = [&](const Repeat &repeat) {
    Operation *op = extracted.ops[repeat.op].op;
    return sourcePlace(op->getLoc()) + ' ' + describe(extracted, repeat);
  };
  llvm::StringSet<> said;
  said.insert(key(repeats[0]));
  for (const Repeat &next : repeats.drop_front())
    if (said.size() <= kMostNotes && said.insert(key(next)).second)
      diagnostic.attachNote(extracted.ops[next.op].op->getLoc())
          << describe(extracted, next);
  return diagnostic;
}

LogicalResult shoal::checkRepeatedWork(const ExtractedProblem &extracted,
                                       const Assignment &assignment,
                                       const RepeatedWorkLimits &limits) {
  SmallVector<Repeat> work = findWork(extracted, assignment);
  double computed = 0, repeated = 0;
  for (const Repeat &repeat : work) {
    computed += repeat.computed;
    repeated += repeat.repeated();
  }
  double ratio = computed > 0 ? computed / (computed - repeated) : 1;
  bool isTooMuch = limits.most > 0 && ratio > limits.most;
  if (!isTooMuch && !(limits.warn > 0 && ratio > limits.warn))
    return success();
  SmallVector<Repeat> repeats = findRepeats(extracted, work);
  bool isWorthIt =
      repeated / extracted.problem.mesh.numDevices() >= limits.leastFlops;
  if (repeats.empty() || !(isTooMuch || isWorthIt))
    return success();
  InFlightDiagnostic diagnostic =
      emit(extracted, assignment, repeats, isTooMuch);
  diagnostic << ", the program " << times(ratio) << " x; ";
  if (isTooMuch)
    return diagnostic << "--max-repeated-work=" << times(limits.most)
                      << " allows no more";
  diagnostic << "--warn-repeated-work=0 allows it in silence, "
                "--max-repeated-work=1 forbids it";
  return success();
}

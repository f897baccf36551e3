// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckRepeatedWork.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

namespace {
/// Operations of an op of the problem, in all its runs.
struct Repeat {
  unsigned op;
  double whole, computed;
  double repeated() const { return computed - whole; }
};
} // namespace

/// Ops of which devices compute more than an even split has, the worst first.
static SmallVector<Repeat> findRepeats(const ExtractedProblem &extracted,
                                       const Assignment &assignment) {
  SmallVector<Repeat> repeats;
  for (auto [id, op] : llvm::enumerate(extracted.problem.ops)) {
    Repeat repeat{unsigned(id), op.weight * op.rule.flops,
                  assignment.flops[id]};
    if (extracted.ops[id].op && repeat.repeated() > 1e-9 * repeat.whole)
      repeats.push_back(repeat);
  }
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
                       times(repeat.computed / repeat.whole));
}

static InFlightDiagnostic emit(const ExtractedProblem &extracted,
                               ArrayRef<Repeat> repeats, bool isError) {
  constexpr size_t kMostNotes = 2;
  Operation *worst = extracted.ops[repeats[0].op].op;
  InFlightDiagnostic diagnostic =
      isError ? worst->emitError() : worst->emitWarning();
  diagnostic << describe(extracted, repeats[0]);
  for (const Repeat &next : repeats.drop_front().take_front(kMostNotes))
    diagnostic.attachNote(extracted.ops[next.op].op->getLoc())
        << describe(extracted, next);
  return diagnostic;
}

LogicalResult shoal::checkRepeatedWork(const ExtractedProblem &extracted,
                                       const Assignment &assignment,
                                       const RepeatedWorkLimits &limits) {
  double ratio = assignment.flopsRatio;
  bool isTooMuch = limits.most > 0 && ratio > limits.most;
  if (!isTooMuch && !(limits.warn > 0 && ratio > limits.warn))
    return success();
  SmallVector<Repeat> repeats = findRepeats(extracted, assignment);
  double repeated = 0;
  for (const Repeat &repeat : repeats)
    repeated += repeat.repeated();
  bool isWorthIt =
      repeated / extracted.problem.mesh.numDevices() >= limits.leastFlops;
  if (repeats.empty() || !(isTooMuch || isWorthIt))
    return success();
  InFlightDiagnostic diagnostic = emit(extracted, repeats, isTooMuch);
  diagnostic << ", the program " << times(ratio) << " x; ";
  if (isTooMuch)
    return diagnostic << "--max-repeated-work=" << times(limits.most)
                      << " allows no more";
  diagnostic << "annotations of its operands split it, "
                "--warn-repeated-work=0 allows it in silence, "
                "--max-repeated-work forbids it";
  return success();
}

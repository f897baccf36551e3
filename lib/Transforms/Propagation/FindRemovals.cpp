// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FindRemovals.h"
#include "AnnotationText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;

/// Reshards that are looked at, those that send most.
static constexpr size_t kMostExplained = 48;
/// What a value's reshards cost where they are to be avoided, in times of what
/// they do.
static constexpr double kDear = 1e4;
/// Of the bytes of two reshards that send as much.
static constexpr double kSame = 1e-6;

namespace {

/// A reshard: of a value, to one of its versions.
struct Sent {
  unsigned value, version;
  /// In all runs.
  double bytes;
};

/// A program with one annotation more, or less.
struct Candidate {
  std::string text;
  AssignmentProblem problem;
  /// The value, and what it is called behind a new annotation of it.
  SmallVector<unsigned, 2> values;
  /// By a search with little effort.
  double total = 0;
};

class RemovalSearch {
public:
  RemovalSearch(const ExtractedProblem &extracted, const Assignment &assignment,
                const AssignmentOptions &options);
  std::vector<Sent> listSent() const;
  std::string describeRemoval(const Sent &sent) const;

private:
  Assignment search(const AssignmentProblem &problem,
                    SearchEffort effort) const;
  bool isSent(const Sent &sent, const Assignment &plan,
              const Candidate &candidate) const;
  SmallVector<unsigned> readersOf(const Sent &sent) const;
  Candidate annotate(unsigned value, const Sharding &sharding) const;
  std::vector<Candidate> listCandidates(const Sent &sent) const;
  void addAnnotations(const Sent &sent, std::vector<Candidate> &list) const;
  void addFreed(const Sent &sent, std::vector<Candidate> &list) const;

  const ExtractedProblem &extracted;
  const AssignmentProblem &problem;
  const Assignment &assignment;
  AssignmentOptions options;
  /// By value.
  std::vector<unsigned> makers;
  std::vector<SmallVector<unsigned, 4>> readers;
};

} // namespace

RemovalSearch::RemovalSearch(const ExtractedProblem &extracted,
                             const Assignment &assignment,
                             const AssignmentOptions &options)
    : extracted(extracted), problem(extracted.problem), assignment(assignment),
      options(options), makers(problem.values.size()),
      readers(problem.values.size()) {
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    for (unsigned value : op.results)
      makers[value] = id;
    for (unsigned value : op.operands)
      readers[value].push_back(id);
  }
}

/// Those that send most first, at most kMostExplained.
std::vector<Sent> RemovalSearch::listSent() const {
  std::vector<Sent> list;
  for (auto [value, versions] : llvm::enumerate(assignment.values)) {
    if (!problem.values[value].manualAxes.empty())
      continue;
    for (auto [number, version] : llvm::enumerate(versions))
      if (version.bytes > 0)
        list.push_back({unsigned(value), unsigned(number),
                        version.bytes * problem.values[value].weight});
  }
  llvm::sort(list, [](const Sent &a, const Sent &b) {
    return std::tuple(-a.bytes, a.value, a.version) <
           std::tuple(-b.bytes, b.value, b.version);
  });
  if (list.size() > kMostExplained)
    list.resize(kMostExplained);
  return list;
}

Assignment RemovalSearch::search(const AssignmentProblem &other,
                                 SearchEffort effort) const {
  AssignmentOptions own = options;
  own.effort = std::min(own.effort, effort);
  return assignShardings(other, own);
}

/// How many reshards of a plan send as much.
static size_t countAlike(const AssignmentProblem &problem,
                         const Assignment &plan, double bytes) {
  size_t count = 0;
  for (auto [value, versions] : llvm::zip_equal(problem.values, plan.values))
    count += llvm::count_if(versions, [&](const ValueVersion &version) {
      return std::abs(version.bytes * value.weight - bytes) <= kSame * bytes;
    });
  return count;
}

/// Whether it is still there: one of the values is moved to where the version
/// is, or what is moved in its place sends as much.
bool RemovalSearch::isSent(const Sent &sent, const Assignment &plan,
                           const Candidate &candidate) const {
  const Sharding &target = assignment.values[sent.value][sent.version].sharding;
  auto isMoved = [&](unsigned value) {
    return llvm::any_of(plan.values[value], [&](const ValueVersion &version) {
      return version.bytes > 0 && version.sharding == target;
    });
  };
  return llvm::any_of(candidate.values, isMoved) ||
         countAlike(candidate.problem, plan, sent.bytes) >=
             countAlike(problem, assignment, sent.bytes);
}

/// The ops that read the version.
SmallVector<unsigned> RemovalSearch::readersOf(const Sent &sent) const {
  llvm::SmallSetVector<unsigned, 4> list;
  for (unsigned op : readers[sent.value])
    for (auto [operand, value] : llvm::enumerate(problem.ops[op].operands))
      if (value == sent.value && assignment.uses[op][operand] == sent.version)
        list.insert(op);
  return list.takeVector();
}

//===----------------------------------------------------------------------===//
// What is tried
//===----------------------------------------------------------------------===//

/// All that reads the value reads what the new annotation makes of it.
Candidate RemovalSearch::annotate(unsigned value,
                                  const Sharding &sharding) const {
  unsigned maker = makers[value], order = problem.ops[maker].deviceOrder;
  Candidate candidate;
  candidate.text = "with " + textOf(extracted, sharding, order, value) +
                   " on " + extracted.describe(maker);
  candidate.problem = problem;
  auto &[mesh, orders, values, ops] = candidate.problem;
  unsigned annotated = values.size();
  candidate.values = {value, annotated};
  values.push_back(values[value]);
  for (AssignmentProblem::Op &op : ops)
    llvm::replace(op.operands, value, annotated);
  AssignmentProblem::Op own;
  own.rule = FactorRuleBuilder::elementwise(values[value].shape,
                                            /*numOperands=*/1);
  own.operands = {value};
  own.results = {annotated};
  own.deviceOrder = order;
  own.weight = ops[maker].weight;
  own.label = "annotation";
  own.constraint.emplace();
  for (const AxisList &axes : sharding.dims)
    own.constraint->dims.push_back({axes});
  ops.insert(ops.begin() + maker + 1, std::move(own));
  return candidate;
}

/// Of the value, and of what its readers make, as they are in the plan in which
/// the value's reshards are dear.
void RemovalSearch::addAnnotations(const Sent &sent,
                                   std::vector<Candidate> &list) const {
  AssignmentProblem dear = problem;
  dear.values[sent.value].weight *= kDear;
  Assignment without = search(dear, SearchEffort::Quick);
  SmallVector<std::pair<unsigned, Sharding>> tried;
  auto add = [&](unsigned value, const Sharding &sharding) {
    std::pair<unsigned, Sharding> each(value, sharding);
    bool isNew = !llvm::is_contained(tried, each) && sharding.partial.empty();
    if (!isNew || problem.ops[makers[value]].constraint)
      return;
    list.push_back(annotate(value, sharding));
    tried.push_back(std::move(each));
  };
  add(sent.value, without.values[sent.value][0].sharding);
  add(sent.value, assignment.values[sent.value][sent.version].sharding);
  for (unsigned op : readersOf(sent))
    for (unsigned result : problem.ops[op].results)
      add(result, without.values[result][0].sharding);
}

/// Without annotations of the value itself, of what reads it, or that its
/// sharding comes from.
void RemovalSearch::addFreed(const Sent &sent,
                             std::vector<Candidate> &list) const {
  llvm::SmallSetVector<unsigned, 4> suspects;
  suspects.insert(makers[sent.value]);
  suspects.insert_range(readersOf(sent));
  for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis)
    if (const AxisHint &hint = assignment.hints.at(sent.value, axis);
        hint.state == AxisHint::Split)
      suspects.insert(hint.annotation);
  for (unsigned op : suspects) {
    if (!isWritten(problem, op))
      continue;
    Candidate candidate{
        "without " + describeAnnotation(extracted, op), problem, {sent.value}};
    candidate.problem.ops[op].constraint.reset();
    list.push_back(std::move(candidate));
  }
}

/// What does away with it, cheapest first.
std::vector<Candidate> RemovalSearch::listCandidates(const Sent &sent) const {
  std::vector<Candidate> tried, found;
  addAnnotations(sent, tried);
  addFreed(sent, tried);
  for (Candidate &candidate : tried) {
    Assignment plan = search(candidate.problem, SearchEffort::Quick);
    if (isSent(sent, plan, candidate))
      continue;
    candidate.total = plan.cost.total();
    found.push_back(std::move(candidate));
  }
  llvm::sort(found, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.total, a.text) < std::tie(b.total, b.text);
  });
  return found;
}

/// By a search of as much effort as the program's own.
std::string RemovalSearch::describeRemoval(const Sent &sent) const {
  for (const Candidate &candidate : listCandidates(sent)) {
    Assignment plan = search(candidate.problem, options.effort);
    if (!isSent(sent, plan, candidate))
      return "gone " + candidate.text + ": a device sends " +
             describeCost(plan.cost, assignment.cost);
  }
  return "no single annotation does away with it";
}

Removals shoal::findRemovals(const ExtractedProblem &extracted,
                             const Assignment &assignment,
                             AssignmentOptions options) {
  RemovalSearch search(extracted, assignment, options);
  Removals removals;
  for (const Sent &sent : search.listSent())
    removals[{sent.value, sent.version}] = search.describeRemoval(sent);
  return removals;
}

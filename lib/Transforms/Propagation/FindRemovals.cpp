// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FindRemovals.h"
#include "AnnotationText.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace shoal;

/// What is looked at: what sends most.
static constexpr size_t kMostExplained = 48;
/// What is sent of a value costs where it is to be avoided, in times of what it
/// does.
static constexpr double kDear = 1e4;
/// Changes that are compiled for what is sent of one value.
static constexpr size_t kMostCompiled = 3;

namespace {

/// What a plan sends: a value to one of its versions, or what an op exchanges.
struct Sent {
  /// A value, or an op.
  unsigned id;
  /// Nothing of an op.
  std::optional<unsigned> version;
  /// In all runs.
  double bytes;
};

/// A change that was tried from the plan as it is.
struct Tried {
  double total;
  SentFacts sent;
};

class RemovalSearch {
public:
  RemovalSearch(const ExtractedProblem &extracted, const Assignment &assignment,
                const AssignmentOptions &options, const ProblemNumbers &numbers,
                Recompile recompile);
  /// Of everything that is sent what to say, that which sends most first.
  std::vector<std::pair<Sent, std::string>> run();

private:
  /// A change's text and what became of it.
  using Compiled = std::pair<const std::string, std::optional<Recompiled>>;

  std::vector<Sent> listSent() const;
  const Assignment &searchWithout(const Sent &sent);
  const Tried &tryChange(const AnnotationChange &change);
  void compile(const AnnotationChange &change);
  bool isThere(const Sent &sent, const SentFacts &facts) const;
  bool isGone(const Sent &sent, const SentFacts &facts) const;
  SmallVector<unsigned> readersOf(unsigned value,
                                  std::optional<unsigned> version) const;
  std::vector<AnnotationChange> listChanges(const Sent &sent);
  std::vector<AnnotationChange> listLikely(const Sent &sent);
  void compileFor(const Sent &sent, bool freed);
  const Compiled *findCompiled(const Sent &sent) const;
  void addAnnotations(const Sent &sent, std::vector<AnnotationChange> &list);
  void addFreed(const Sent &sent, std::vector<AnnotationChange> &list) const;
  std::string say(const Compiled &found) const;
  std::string whyNone(const Sent &sent);

  const ExtractedProblem &extracted;
  const AssignmentProblem &problem;
  const Assignment &assignment;
  const AssignmentOptions &options;
  const ProblemNumbers &numbers;
  Recompile recompile;
  /// What the plan sends.
  SentFacts facts;
  std::vector<Sent> sentMost;
  /// By value.
  std::vector<unsigned> makers;
  std::vector<SmallVector<unsigned, 4>> readers;
  /// By what is to be avoided: a value, or an op.
  std::map<std::pair<unsigned, bool>, Assignment> without;
  /// By the change's text, as is `compiled`.
  std::map<std::string, Tried> tried;
  std::map<std::string, std::optional<Recompiled>> compiled;
};

} // namespace

RemovalSearch::RemovalSearch(const ExtractedProblem &extracted,
                             const Assignment &assignment,
                             const AssignmentOptions &options,
                             const ProblemNumbers &numbers, Recompile recompile)
    : extracted(extracted), problem(extracted.problem), assignment(assignment),
      options(options), numbers(numbers), recompile(recompile),
      facts(shoal::listSent(problem, assignment, numbers)),
      makers(problem.values.size()), readers(problem.values.size()) {
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    for (unsigned value : op.results)
      makers[value] = id;
    for (unsigned value : op.operands)
      readers[value].push_back(id);
  }
}

std::vector<Sent> RemovalSearch::listSent() const {
  std::vector<Sent> list;
  for (auto [value, versions] : llvm::enumerate(assignment.values))
    for (auto [number, version] : llvm::enumerate(versions))
      if (version.bytes > 0)
        list.push_back({unsigned(value), unsigned(number),
                        version.bytes * problem.values[value].weight});
  for (auto [op, bytes] : llvm::enumerate(assignment.exchanges))
    if (bytes > 0)
      list.push_back({unsigned(op), std::nullopt, bytes});
  llvm::sort(list, [](const Sent &a, const Sent &b) {
    return std::tuple(-a.bytes, a.version.has_value(), a.id, a.version) <
           std::tuple(-b.bytes, b.version.has_value(), b.id, b.version);
  });
  return list;
}

SmallVector<unsigned>
RemovalSearch::readersOf(unsigned value,
                         std::optional<unsigned> version) const {
  llvm::SmallSetVector<unsigned, 4> list;
  for (unsigned op : readers[value])
    for (auto [operand, read] : llvm::enumerate(problem.ops[op].operands))
      if (read == value &&
          (!version || assignment.uses[op][operand] == *version))
        list.insert(op);
  return list.takeVector();
}

//===----------------------------------------------------------------------===//
// What is tried
//===----------------------------------------------------------------------===//

/// The plan in which what is sent of the value, or by the op, is dear.
const Assignment &RemovalSearch::searchWithout(const Sent &sent) {
  auto [found, isNew] =
      without.try_emplace({sent.id, sent.version.has_value()});
  if (!isNew)
    return found->second;
  AssignmentProblem dear = problem;
  if (sent.version)
    dear.values[sent.id].weight *= kDear;
  else
    dear.ops[sent.id].exchangeWeight *= kDear;
  return found->second =
             adaptShardings(dear, assignment.ops,
                            sent.version ? makers[sent.id] : sent.id, options);
}

const Tried &RemovalSearch::tryChange(const AnnotationChange &change) {
  auto [found, isNew] = tried.try_emplace(describeChange(extracted, change));
  if (!isNew)
    return found->second;
  ChangedProblem changed = changeProblem(extracted, assignment, change);
  Assignment plan =
      adaptShardings(changed.problem, changed.start, changed.op, options);
  ProblemNumbers own = numbers;
  if (!change.freed) {
    own.values.push_back(own.values[change.value]);
    own.ops.insert(own.ops.begin() + changed.op, std::nullopt);
  }
  found->second = {plan.cost.total(),
                   shoal::listSent(changed.problem, plan, own)};
  return found->second;
}

void RemovalSearch::compile(const AnnotationChange &change) {
  auto [found, isNew] = compiled.try_emplace(describeChange(extracted, change));
  if (!isNew)
    return;
  found->second = recompile(change, [&](const SentFacts &made) {
    return llvm::any_of(sentMost,
                        [&](const Sent &sent) { return isGone(sent, made); });
  });
}

/// Whether the value is sent to where the version is, or the op sends.
bool RemovalSearch::isThere(const Sent &sent, const SentFacts &other) const {
  if (!sent.version)
    return other.exchanges.contains(*numbers.ops[sent.id]);
  const Sharding &target = assignment.values[sent.id][*sent.version].sharding;
  return other.reshards.count(
      {numbers.values[sent.id], toString(target, problem.mesh)});
}

/// And whether nothing in its place sends as much.
bool RemovalSearch::isGone(const Sent &sent, const SentFacts &other) const {
  return !isThere(sent, other) &&
         other.countAlike(sent.bytes) < facts.countAlike(sent.bytes);
}

/// Of a value, what makes it reads, and what its readers make; of an op, what
/// it reads and makes: as they are in the plan in which sending is dear.
void RemovalSearch::addAnnotations(const Sent &sent,
                                   std::vector<AnnotationChange> &list) {
  const Assignment &dear = searchWithout(sent);
  auto add = [&](unsigned value, const Sharding &sharding) {
    AnnotationChange change{std::nullopt, value, sharding};
    if (sharding.partial.empty() && canAnnotate(extracted, value) &&
        !llvm::is_contained(list, change))
      list.push_back(std::move(change));
  };
  // What is annotated already is to be freed, or read otherwise by all.
  auto addMade = [&](unsigned value) {
    if (!problem.ops[makers[value]].constraint)
      add(value, dear.values[value][0].sharding);
  };
  auto addRead = [&](unsigned op) {
    for (auto [operand, value] : llvm::enumerate(problem.ops[op].operands))
      add(value, dear.values[value][dear.uses[op][operand]].sharding);
  };
  if (!sent.version) {
    addRead(sent.id);
    for (unsigned result : problem.ops[sent.id].results)
      addMade(result);
    return;
  }
  addMade(sent.id);
  if (!problem.ops[makers[sent.id]].constraint)
    add(sent.id, assignment.values[sent.id][*sent.version].sharding);
  for (unsigned op : readersOf(sent.id, sent.version))
    for (unsigned result : problem.ops[op].results)
      addMade(result);
  addRead(makers[sent.id]);
}

/// Without annotations of the value itself, of what reads it, or that its
/// sharding comes from; so of the values of an op.
void RemovalSearch::addFreed(const Sent &sent,
                             std::vector<AnnotationChange> &list) const {
  llvm::SmallSetVector<unsigned, 4> suspects;
  auto addValue = [&](unsigned value, std::optional<unsigned> version) {
    suspects.insert(makers[value]);
    suspects.insert_range(readersOf(value, version));
    for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis)
      if (const AxisHint &hint = assignment.hints.at(value, axis);
          hint.state == AxisHint::Split)
        suspects.insert(hint.annotation);
  };
  if (sent.version) {
    addValue(sent.id, sent.version);
  } else {
    const AssignmentProblem::Op &op = problem.ops[sent.id];
    for (unsigned value : llvm::concat<const unsigned>(op.operands, op.results))
      addValue(value, std::nullopt);
  }
  for (unsigned op : suspects)
    if (isWritten(problem, op))
      list.push_back({op});
}

std::vector<AnnotationChange> RemovalSearch::listChanges(const Sent &sent) {
  std::vector<AnnotationChange> list;
  addAnnotations(sent, list);
  addFreed(sent, list);
  return list;
}

//===----------------------------------------------------------------------===//
// What is compiled
//===----------------------------------------------------------------------===//

/// Those that do away with it as they are tried, or leave an annotation out,
/// which allows all plans that there were and more, farther away than what is
/// tried: the cheapest first.
std::vector<AnnotationChange> RemovalSearch::listLikely(const Sent &sent) {
  std::vector<AnnotationChange> changes = listChanges(sent);
  // By totals, of equal ones in the order of the changes.
  SmallVector<std::pair<double, size_t>> places;
  for (auto [place, change] : llvm::enumerate(changes))
    if (const Tried &each = tryChange(change);
        change.freed || isGone(sent, each.sent))
      places.emplace_back(each.total, place);
  llvm::sort(places);
  std::vector<AnnotationChange> likely;
  for (auto [total, place] : ArrayRef(places).take_front(kMostCompiled))
    likely.push_back(std::move(changes[place]));
  return likely;
}

/// Annotations that are left out, or new ones where nothing that was compiled
/// so far does away with it for what they seem to cost.
void RemovalSearch::compileFor(const Sent &sent, bool freed) {
  for (const AnnotationChange &change : listLikely(sent)) {
    if (change.freed.has_value() != freed)
      continue;
    const Compiled *best = freed ? nullptr : findCompiled(sent);
    if (!best || best->second->cost.total() > tryChange(change).total)
      compile(change);
  }
}

/// The cheapest of all that was compiled, for whatever is sent; null for none.
const RemovalSearch::Compiled *
RemovalSearch::findCompiled(const Sent &sent) const {
  const Compiled *best = nullptr;
  for (const Compiled &entry : compiled) {
    const std::optional<Recompiled> &made = entry.second;
    if (made && made->bytes && isGone(sent, made->sent) &&
        (!best || made->cost.total() < best->second->cost.total()))
      best = &entry;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

std::string RemovalSearch::say(const Compiled &found) const {
  const Recompiled &made = *found.second;
  return "gone " + found.first + ": a device sends " +
         describeCost(*made.bytes, made.cost, assignment.cost, options);
}

/// That there is none, and what was tried.
std::string RemovalSearch::whyNone(const Sent &sent) {
  std::string text = "no single annotation does away with it";
  std::vector<AnnotationChange> changes = listChanges(sent);
  if (changes.empty())
    return text + ": there is none of what it is of";
  size_t stay = llvm::count_if(changes, [&](const AnnotationChange &change) {
    return isThere(sent, tryChange(change).sent);
  });
  return text +
         llvm::formatv(": with {0} of {1} that were tried it stays, with "
                       "the others as much is sent in its place",
                       stay, changes.size())
             .str();
}

std::vector<std::pair<Sent, std::string>> RemovalSearch::run() {
  std::vector<Sent> all = listSent();
  sentMost = ArrayRef(all).take_front(kMostExplained).vec();
  // Of few annotations that are left out each may do away with much.
  for (bool freed : {true, false})
    for (const Sent &sent : sentMost)
      compileFor(sent, freed);
  std::vector<std::pair<Sent, std::string>> said;
  for (auto [place, sent] : llvm::enumerate(all))
    if (const Compiled *found = findCompiled(sent))
      said.emplace_back(sent, say(*found));
    else if (place < kMostExplained)
      said.emplace_back(sent, whyNone(sent));
    else
      said.emplace_back(sent, llvm::formatv("what does away with it was not "
                                            "looked for: {0} others send more",
                                            kMostExplained));
  return said;
}

/// What a collective is there for though it sends nothing: a gather of no
/// elements, and the rows of a slice that each device has.
static void addIdle(const AssignmentProblem &problem,
                    const Assignment &assignment, Removals &removals) {
  for (auto [value, versions] : llvm::enumerate(assignment.values))
    if (llvm::is_contained(problem.values[value].shape, 0))
      for (unsigned number = 1; number < versions.size(); ++number)
        removals.ofReshards[{unsigned(value), number}] =
            "nothing is sent: it has no elements";
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    bool isSplit =
        llvm::any_of(assignment.ops[id].axes,
                     [](const AxisList &axes) { return !axes.empty(); });
    if (!op.rule.windows.empty() && isSplit && assignment.exchanges[id] == 0)
      removals.ofOps[id] =
          "nothing is sent: each device has the rows that it reads";
  }
}

Removals shoal::findRemovals(const ExtractedProblem &extracted,
                             const Assignment &assignment,
                             const AssignmentOptions &options,
                             const ProblemNumbers &numbers,
                             Recompile recompile) {
  RemovalSearch search(extracted, assignment, options, numbers, recompile);
  Removals removals;
  for (auto &[sent, text] : search.run()) {
    if (sent.version)
      removals.ofReshards[{sent.id, *sent.version}] = std::move(text);
    else
      removals.ofOps[sent.id] = std::move(text);
  }
  addIdle(extracted.problem, assignment, removals);
  for (auto [op, origin] : llvm::enumerate(extracted.ops))
    if (isa_and_nonnull<spmd::CollectiveOpInterface>(origin.op))
      removals.ofOps[op] =
          "sent by the program itself, whatever its annotations";
  return removals;
}

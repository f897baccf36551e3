// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Assignment.h"
#include "Search.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

/// The plan's cost, as debug output shows it.
[[maybe_unused]] static llvm::format_object<double> costOf(const Plan &plan) {
  return llvm::format("%.0f", plan.totalCost());
}

/// Moves groups of ops, then what that allows others.
static void improveGroups(Plan &plan) {
  const AssignmentOptions &options = plan.getTables().options;
  auto groups = findElementwiseGroups(plan.getTables().problem);
  auto accumulators = findAccumulators(plan.getTables().problem);
  auto rows = findKeptRows(plan.getTables().problem);
  for (unsigned round = 0; round < options.maxChainRounds; ++round) {
    double gain = moveGroups(plan, groups);
    gain += moveAccumulators(plan, accumulators);
    gain += moveKeptRows(plan, rows);
    if (gain < kMinGain)
      return;
    if (options.chains)
      moveChains(plan, options.slack);
    LDBG() << "  groups:  " << costOf(plan);
  }
}

/// `slack` is that of chains.
static void improve(Plan &plan, double slack) {
  const AssignmentOptions &options = plan.getTables().options;
  LDBG() << "  begins at " << costOf(plan);
  if (options.descend) {
    descend(plan, options.maxSweeps);
    LDBG() << "  descent: " << costOf(plan);
  }
  if (options.chains) {
    moveChains(plan, slack);
    LDBG() << "  chains:  " << costOf(plan);
  }
  if (options.groups)
    improveGroups(plan);
}

/// Moves dimensions, too, each time that nothing else gains: they take many ops
/// at a time.
static void improveAll(Plan &plan, double slack,
                       llvm::ArrayRef<DimensionGroup> dimensions) {
  improve(plan, slack);
  unsigned rounds = plan.getTables().options.maxChainRounds;
  for (unsigned round = 0; round < rounds; ++round) {
    if (moveDimensions(plan, dimensions) < kMinGain)
      return;
    improve(plan, slack);
  }
}

/// Takes the other plan where it is cheaper.
static void keepCheaper(Plan &plan, Plan other, llvm::StringRef name) {
  bool isCheaper = other.totalCost() < plan.totalCost() - kMinGain;
  LDBG() << name << " costs " << costOf(other) << ", the one before "
         << costOf(plan) << ": " << (isCheaper ? "taken" : "left");
  if (isCheaper)
    plan = std::move(other);
}

/// The choice of a program result without constraint that takes its value as
/// it is made; nothing where the op has none, as of partial sums.
static std::optional<ChoiceIndex> findChoiceAsMade(Plan &plan, unsigned op,
                                                   LayoutId made) {
  CostTables &tables = plan.getTables();
  const OpClass &opClass = tables.classOf(op);
  for (ChoiceIndex i = 0; i < opClass.numChoices(); ++i) {
    const Choice *choice = tables.choice(op, i);
    if (choice && choice->operands[0] == made)
      return i;
  }
  return std::nullopt;
}

/// Among equally cheap shardings of a result, the one its value is made in is
/// what a person would expect.
static void settleResults(Plan &plan) {
  const AssignmentProblem &problem = plan.getTables().problem;
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    const AssignmentProblem::Op &result = problem.ops[op];
    if (!result.results.empty() || result.operands.empty() || result.constraint)
      continue;
    LayoutId made = plan.versionTree(result.operands[0]).nodes[0].layout;
    std::optional<ChoiceIndex> choice = findChoiceAsMade(plan, op, made);
    if (!choice || *plan.costChange(op, *choice) > kMinGain)
      continue;
    LDBG() << "result op " << op << " takes its value as it is made";
    plan.move(op, *choice);
  }
}

static std::vector<ValueVersion> versionsOf(const Plan &plan, unsigned value,
                                            const VersionTree &tree) {
  std::vector<ValueVersion> versions;
  for (auto [i, node] : llvm::enumerate(tree.nodes)) {
    const Layout &layout = plan.getTables().layout(node.layout);
    ValueVersion version{layout.sharding, layout.deviceOrder, std::nullopt, 0};
    if (i > 0) {
      assert(node.parent < i && "parents come before children");
      version.parent = node.parent;
      version.bytes = plan.getTables().reshardBytesOf(
          value, tree.nodes[node.parent].layout, node.layout);
    }
    versions.push_back(std::move(version));
  }
  return versions;
}

static void addOp(const Plan &plan, unsigned op,
                  llvm::ArrayRef<VersionTree> trees, Assignment &assignment) {
  const Choice &choice = plan.resolved(op);
  assignment.ops.push_back(choice.sharding);
  assignment.cost.compute += choice.compute;
  assignment.cost.memory += choice.memory;
  assignment.cost.reductions += choice.reductions;
  assignment.cost.repeats += choice.repeats();
  auto &uses = assignment.uses.emplace_back();
  for (auto [value, layout] : llvm::zip_equal(
           plan.getTables().problem.ops[op].operands, choice.operands))
    uses.push_back(llvm::find_if(trees[value].nodes,
                                 [&, needed = layout](auto &node) {
                                   return node.layout == needed;
                                 }) -
                   trees[value].nodes.begin());
}

static void addReshards(const Plan &plan, unsigned value,
                        const VersionTree &tree, AssignmentCost &cost) {
  const CostTables &tables = plan.getTables();
  double weight = tables.problem.values[value].weight;
  for (const auto &node : llvm::drop_begin(tree.nodes)) {
    auto price =
        tables.sendingPrice(value, tree.nodes[node.parent].layout, node.layout);
    cost.reshards += weight * price.bytes;
    cost.latency += weight * price.latency;
    if (price.bytes > 0)
      cost.compute += tables.computeIfSent(value);
  }
}

static Assignment describe(const Plan &plan, Hints hints) {
  const AssignmentProblem &problem = plan.getTables().problem;
  Assignment assignment;
  assignment.hints = std::move(hints);
  std::vector<VersionTree> trees;
  for (unsigned value = 0; value < problem.values.size(); ++value) {
    trees.push_back(plan.versionTree(value));
    assignment.values.push_back(versionsOf(plan, value, trees.back()));
    addReshards(plan, value, trees.back(), assignment.cost);
  }
  double ofDevices = 0, ofProgram = 0;
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    addOp(plan, op, trees, assignment);
    double weight = problem.ops[op].weight;
    assignment.flops.push_back(weight * plan.resolved(op).flops *
                               problem.mesh.numDevices());
    ofDevices += assignment.flops.back();
    ofProgram += weight * problem.ops[op].rule.flops;
  }
  if (ofProgram > 0)
    assignment.flopsRatio = ofDevices / ofProgram;
  return assignment;
}

/// Nothing is split, but for what annotations ask for.
static std::vector<ChoiceIndex>
choiceOfNothing(const AssignmentProblem &problem) {
  return std::vector<ChoiceIndex>(problem.ops.size(), 0);
}

/// Brings a plan further, by chains of this slack.
using Improvement = llvm::function_ref<void(Plan &, double)>;

/// The better of two starts: what the hints suggest, and nothing split, each
/// brought further by `improvement`.
static Plan searchFromTwoStarts(CostTables &tables, const Hints &hints,
                                Improvement improvement) {
  LDBG() << "greedy, from the hints";
  Plan plan(tables, chooseGreedily(tables, hints));
  leaveImpossible(plan);
  improvement(plan, tables.options.slack);
  if (tables.options.secondStart) {
    LDBG() << "from nothing split";
    Plan other(tables, choiceOfNothing(tables.problem));
    improvement(other, tables.options.wholeSlack);
    keepCheaper(plan, std::move(other), "the second start");
  }
  if (tables.options.chains)
    moveChains(plan, tables.options.lastSlack);
  return plan;
}

/// The choices of a plan.
static std::vector<ChoiceIndex> choicesOf(const Plan &plan) {
  std::vector<ChoiceIndex> choices(plan.getTables().problem.ops.size());
  for (auto [op, choice] : llvm::enumerate(choices))
    choice = plan.choiceOf(op);
  return choices;
}

static bool isHint(const AssignmentProblem::Op &op) {
  return op.constraint && op.constraint->isHint;
}

/// The problem whose annotations all bind: those that only ask are in the hints
/// already.
static AssignmentProblem withoutHints(const AssignmentProblem &problem) {
  AssignmentProblem binding = problem;
  for (AssignmentProblem::Op &op : binding.ops)
    if (isHint(op))
      op.constraint.reset();
  return binding;
}

/// The problem whose annotations bind, also those that only ask.
static AssignmentProblem withBindingHints(const AssignmentProblem &problem) {
  AssignmentProblem binding = problem;
  for (AssignmentProblem::Op &op : binding.ops)
    if (isHint(op)) {
      op.constraint->isHint = false;
      op.rule.linearIn.clear(); // an annotation takes no partial sum
    }
  return binding;
}

/// Of an axis that the op's annotation names: the dimension that it asks for.
static std::optional<Label> askedLabel(const AssignmentProblem::Op &op,
                                       AxisId axis) {
  if (op.constraint)
    for (auto [d, dim] : llvm::enumerate(op.constraint->dims))
      if (llvm::is_contained(dim.axes, axis))
        return Label{Label::Factor, unsigned(d)};
  return std::nullopt;
}

/// The label of an axis in `plan`; of one that an annotation names, what it
/// asks for.
static Label labelOf(const Plan &plan, unsigned op, AxisId axis) {
  CostTables &tables = plan.getTables();
  if (std::optional<Label> asked = askedLabel(tables.problem.ops[op], axis))
    return *asked;
  return tables.classOf(op).label(plan.choiceOf(op), axis);
}

/// Whether values lie as annotations that only ask would have them, and no axis
/// that these do not name splits them or leaves partial sums.
static bool followsHints(const Plan &plan, const AssignmentProblem &given) {
  for (unsigned op = 0; op < given.ops.size(); ++op) {
    if (!isHint(given.ops[op]))
      continue;
    const OpClass &opClass = plan.getTables().classOf(op);
    for (AxisId axis = 0; axis < given.mesh.axes.size(); ++axis) {
      if (opClass.label(plan.choiceOf(op), axis) !=
          askedLabel(given.ops[op], axis).value_or(Label()))
        return false;
    }
  }
  return true;
}

/// The choice of `tables`, where other annotations bind, with the op's labels
/// in `plan`, as far as it has them; the first where the rule does not allow
/// it.
static ChoiceIndex findSameLabels(CostTables &tables, unsigned op,
                                  const Plan &plan) {
  const OpClass &opClass = tables.classOf(op);
  ChoiceIndex index = 0;
  for (AxisId axis = 0; axis < tables.problem.mesh.axes.size(); ++axis)
    for (unsigned number = 0; number < opClass.numLabels(axis); ++number) {
      ChoiceIndex next = opClass.withLabel(index, axis, number);
      if (opClass.label(next, axis) == labelOf(plan, op, axis))
        index = next;
    }
  return tables.choice(op, index) ? index : 0;
}

/// What is found from nothing split where all annotations of `given` bind, as
/// choices of `tables`, where those that only ask do not.
static std::vector<ChoiceIndex>
searchWithBindingHints(const AssignmentProblem &given, CostTables &tables,
                       const Hints &hints) {
  AssignmentProblem problem = withBindingHints(given);
  CostTables binding(problem, tables.options, preferredAxisOrder(problem),
                     &hints);
  Plan plan(binding, choiceOfNothing(problem));
  improve(plan, tables.options.slack);
  std::vector<ChoiceIndex> choices;
  choices.reserve(problem.ops.size());
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    choices.push_back(findSameLabels(tables, op, plan));
  return choices;
}

static Assignment search(const AssignmentProblem &given,
                         const AssignmentOptions &options) {
  Hints hints = propagateInOrder(given);
  AssignmentProblem problem = withoutHints(given);
  CostTables tables(problem, options, preferredAxisOrder(problem), &hints);
  std::vector<DimensionGroup> dimensions;
  if (options.dimensions)
    dimensions = findDimensionGroups(problem);
  auto improveWhole = [&](Plan &plan, double slack) {
    improveAll(plan, slack, dimensions);
  };
  Plan plan = searchFromTwoStarts(tables, hints, improveWhole);
  if (options.thirdStart) {
    // Where arithmetic counts more, no work is done twice. From there the
    // search gets to plans that it would not find from those that trade
    // arithmetic for bytes at once.
    LDBG() << "where arithmetic counts tenfold";
    tables.setFlopsPerByte(options.flopsPerByte / 10);
    std::vector<ChoiceIndex> start =
        choicesOf(searchFromTwoStarts(tables, hints, improve));
    tables.setFlopsPerByte(options.flopsPerByte);
    LDBG() << "from there";
    Plan third(tables, start);
    improveWhole(third, options.slack);
    keepCheaper(plan, std::move(third), "the third start");
  }
  if (options.fourthStart && !followsHints(plan, given)) {
    // What binds keeps values that are moved to and fro at one place; from
    // there the search gets further than where each of them may leave.
    LDBG() << "where annotations that only ask bind";
    std::vector<ChoiceIndex> start =
        searchWithBindingHints(given, tables, hints);
    LDBG() << "from there";
    Plan fourth(tables, start);
    improveWhole(fourth, options.slack);
    keepCheaper(plan, std::move(fourth), "the fourth start");
  }
  settleResults(plan);
  return describe(plan, std::move(hints));
}

Assignment shoal::assignShardings(const AssignmentProblem &problem,
                                  const AssignmentOptions &options) {
  ReorderedProblem canonical(problem, canonicalOrder(problem));
  Assignment assignment = search(canonical.problem, options);
  assignment.ops = canonical.opsBack(std::move(assignment.ops));
  assignment.uses = canonical.opsBack(std::move(assignment.uses));
  assignment.flops = canonical.opsBack(std::move(assignment.flops));
  assignment.values = canonical.valuesBack(std::move(assignment.values));
  assignment.hints.renumber(canonical.ops, canonical.values);
  return assignment;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Search.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

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

void assignment::settleResults(Plan &plan) {
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
  assignment.ops.push_back(plan.getTables().classOf(op).split(choice.index));
  assignment.cost.compute += choice.compute;
  assignment.cost.memory += choice.memory;
  assignment.cost.reductions += choice.reductions;
  assignment.cost.repeats += choice.repeats();
  assignment.cost.held += choice.held;
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
  CostTables &tables = plan.getTables();
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

Assignment assignment::describe(const Plan &plan, Hints hints) {
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
    assignment.exchanges.push_back(weight * plan.resolved(op).exchanged);
    ofProgram += weight * problem.ops[op].rule.flops;
  }
  if (ofProgram > 0)
    assignment.flopsRatio = ofDevices / ofProgram;
  return assignment;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Assignment.h"
#include "Search.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

static void improve(Plan &plan) {
  const AssignmentOptions &options = plan.getTables().options;
  if (options.descend)
    descend(plan, options.maxSweeps);
  if (options.chains)
    moveChains(plan, options.slack);
}

static std::vector<ValueVersion> versionsOf(const Plan &plan, unsigned value,
                                            const VersionTree &tree) {
  std::vector<ValueVersion> versions;
  for (auto [i, node] : llvm::enumerate(tree.nodes)) {
    const Layout &layout = plan.getTables().layout(node.layout);
    ValueVersion version{layout.sharding, layout.deviceOrder, std::nullopt, 0};
    if (i > 0) {
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
  auto &uses = assignment.uses.emplace_back();
  for (auto [value, layout] : llvm::zip_equal(
           plan.getTables().problem.ops[op].operands, choice.operands))
    uses.push_back(llvm::find_if(trees[value].nodes,
                                 [&, needed = layout](auto &node) {
                                   return node.layout == needed;
                                 }) -
                   trees[value].nodes.begin());
}

static Assignment describe(const Plan &plan) {
  const AssignmentProblem &problem = plan.getTables().problem;
  Assignment assignment;
  std::vector<VersionTree> trees;
  for (unsigned value = 0; value < problem.values.size(); ++value) {
    trees.push_back(plan.versionTree(value));
    assignment.values.push_back(versionsOf(plan, value, trees.back()));
    for (const ValueVersion &version : assignment.values.back()) {
      assignment.cost.reshards += version.bytes;
      if (version.bytes > 0)
        assignment.cost.latency += plan.getTables().options.latencyBytes;
    }
  }
  double ofDevices = 0, ofProgram = 0;
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    addOp(plan, op, trees, assignment);
    ofDevices += plan.resolved(op).flops * problem.mesh.numDevices();
    ofProgram += problem.ops[op].rule.flops;
  }
  if (ofProgram > 0)
    assignment.flopsRatio = ofDevices / ofProgram;
  return assignment;
}

Assignment shoal::assignShardings(const AssignmentProblem &problem,
                                  const AssignmentOptions &options) {
  Hints hints = propagateHints(problem);
  CostTables tables(problem, options, preferredAxisOrder(problem));
  Plan plan(tables, chooseGreedily(tables, hints));
  improve(plan);
  if (options.secondStart) {
    Plan other(tables, std::vector<ChoiceIndex>(problem.ops.size(), 0));
    improve(other);
    if (other.totalCost() < plan.totalCost() - kMinGain)
      plan = std::move(other);
  }
  if (options.chains)
    moveChains(plan, options.lastSlack);
  return describe(plan);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WholeAxes.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

using Problem = AssignmentProblem;

/// Calls `visit` for each list of axes that the problem has.
static void forEachList(Problem &problem,
                        llvm::function_ref<void(AxisList &)> visit) {
  for (Problem::Value &value : problem.values)
    visit(value.manualAxes);
  for (Problem::Op &op : problem.ops) {
    visit(op.manualAxes);
    if (op.constraint) {
      for (DimConstraint &dim : op.constraint->dims)
        visit(dim.axes);
      visit(op.constraint->partial);
      visit(op.constraint->replicated);
    }
    if (op.boundary) {
      llvm::for_each(op.boundary->axes, visit);
      visit(op.boundary->partial);
    }
  }
}

namespace {
/// Which of a mesh's axes are one.
class Runs {
public:
  explicit Runs(const Mesh &mesh) {
    for (AxisId axis = 0; axis < mesh.axes.size(); ++axis) {
      bool goesOn =
          axis > 0 && mesh.axes[axis].name == mesh.axes[axis - 1].name;
      if (!goesOn)
        runs.emplace_back();
      runs.back().push_back(axis);
    }
  }

  /// Those of which the list has a part without the others stay apart.
  void respect(const AxisList &list) {
    std::vector<AxisList> apart;
    for (AxisList &run : runs) {
      auto *found = llvm::search(list, run);
      bool isWhole =
          found != list.end() || llvm::none_of(run, [&](AxisId axis) {
            return llvm::is_contained(list, axis);
          });
      if (isWhole)
        apart.push_back(std::move(run));
      else
        for (AxisId axis : run)
          apart.push_back({axis});
    }
    runs = std::move(apart);
  }

  std::vector<AxisList> runs;
};
} // namespace

/// The list in numbers of runs.
static AxisList renumber(const AxisList &list, llvm::ArrayRef<AxisList> runs) {
  AxisList numbers;
  for (AxisId axis : list) {
    auto *run = llvm::find_if(
        runs, [&](const AxisList &run) { return run.front() == axis; });
    if (run != runs.end())
      numbers.push_back(run - runs.begin());
  }
  return numbers;
}

static MeshAxis merge(const Mesh &mesh, const AxisList &run) {
  MeshAxis whole = mesh.axes[run.front()];
  whole.size = mesh.sizeOf(run);
  return whole;
}

std::optional<WholeAxes>
assignment::mergeSubAxes(const AssignmentProblem &given) {
  Runs found(given.mesh);
  if (found.runs.size() == given.mesh.axes.size())
    return std::nullopt;
  WholeAxes whole{given, {}};
  forEachList(whole.problem, [&](AxisList &list) { found.respect(list); });
  whole.parts = std::move(found.runs);
  if (whole.parts.size() == given.mesh.axes.size())
    return std::nullopt;
  forEachList(whole.problem,
              [&](AxisList &list) { list = renumber(list, whole.parts); });
  whole.problem.mesh.axes.clear();
  for (const AxisList &run : whole.parts)
    whole.problem.mesh.axes.push_back(merge(given.mesh, run));
  return whole;
}

FactorSharding WholeAxes::expand(const FactorSharding &choice) const {
  FactorSharding expanded;
  for (const AxisList &axes : choice.axes) {
    AxisList &own = expanded.axes.emplace_back();
    for (AxisId axis : axes)
      own.append(parts[axis]);
  }
  for (const FactorSharding::Pass &pass : choice.passes)
    for (AxisId axis : parts[pass.axis])
      expanded.passes.push_back({axis, pass.set});
  return expanded;
}

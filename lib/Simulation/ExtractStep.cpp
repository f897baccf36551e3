// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TaskReader.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/CostModel/BufferBytes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Simulation/Step.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Before it is lowered
//===----------------------------------------------------------------------===//

static CollectiveWork describe(const CollectiveCost &cost, int64_t number) {
  auto op = cast<spmd::CollectiveOpInterface>(cost.op);
  MeshAttr mesh = lookupMesh(op, op.getMeshAttr()).getMesh();
  SmallVector<PositionDigit> digits;
  for (AxisRefAttr axis : op.getGroupAxes())
    digits.push_back(digitOf(axis, mesh));
  CollectiveWork work;
  work.kind = op.getCollectiveKind();
  work.number = number;
  work.axesText = cost.axes;
  work.roles = cost.roles;
  work.reason = cost.reason;
  for (PositionDigit digit : digits)
    work.axes.push_back({digit.size, digit.stride});
  if (!mesh.getDeviceIds().empty())
    work.groups = listGroups(work.axes, mesh.getDeviceIds());
  return work;
}

PreparedProgram shoal::prepareStep(ModuleOp module) {
  PreparedProgram program;
  module.walk<WalkOrder::PreOrder>([&](WhileOp loop) {
    program.trips[loop.getLoc()].push_back(loop.getTripCount());
  });
  for (auto [number, cost] : llvm::enumerate(listCollectives(module)))
    program.collectives.emplace_back(cost, describe(cost, number));
  module.walk([&](FactorRuleOpInterface op) {
    std::optional<int64_t> number = getNumberNote(op->getLoc());
    ArithmeticCost cost = countArithmetic(op);
    if (number && cost.flops < cost.mostFlops)
      program.filled[*number] = cost.flops / cost.mostFlops;
  });
  return program;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

class Extraction {
public:
  Extraction(func::FuncOp main, const PreparedProgram &program, bool onDevice)
      : program(program),
        reader(main->getParentOfType<ModuleOp>(), program, onDevice),
        onDevice(onDevice) {}

  Step extract(Block &block) {
    Step step;
    for (Operation &op : block)
      add(&op, step);
    return step;
  }

private:
  void add(Operation *op, Step &step) {
    if (auto wait = dyn_cast<rt::WaitOp>(op))
      step.push_back(Wait{static_cast<int64_t>(wait.getCollective())});
    else if (isa<rt::ReadScalarOp>(op))
      step.push_back(HostRead());
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      addLoop(loop, step);
    else if (isa<RegionBranchOpInterface>(op) && !isa<LoopLikeOpInterface>(op))
      addBranch(op, step);
    else if (computes(op))
      step.push_back(readTask(op));
  }

  /// What makes no kernel and no call: views, constants, scalars.
  bool computes(Operation *op) {
    if (isa<ViewLikeOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>())
      return false;
    auto isBuffer = [](Type type) { return isa<BaseMemRefType>(type); };
    bool touches = llvm::any_of(op->getOperandTypes(), isBuffer) ||
                   op->getNumRegions() > 0;
    return touches && touchedBytes(op) > 0;
  }

  void addLoop(scf::WhileOp op, Step &step) {
    auto loop = std::make_shared<Loop>();
    std::optional<int64_t> known = takeTrips(op.getLoc());
    loop->isKnown = known.has_value();
    loop->trips = known.value_or(1);
    loop->isOfGradient = isOfGradient(op);
    loop->place = sourcePlace(op.getLoc());
    loop->body = extract(*op.getBeforeBody());
    Step after = extract(*op.getAfterBody());
    loop->body.insert(loop->body.end(), after.begin(), after.end());
    step.push_back(loop);
  }

  /// Loops from one place are lowered in their order.
  std::optional<int64_t> takeTrips(Location place) {
    auto found = program.trips.find(place);
    unsigned &next = taken[place];
    if (found == program.trips.end() || next >= found->second.size())
      return std::nullopt;
    return found->second[next++];
  }

  void addBranch(Operation *op, Step &step) {
    auto branch = std::make_shared<Branch>();
    branch->place = sourcePlace(op->getLoc());
    for (Region &region : op->getRegions())
      if (!region.empty())
        branch->branches.push_back(extract(region.front()));
    step.push_back(branch);
  }

  Task readTask(Operation *op) {
    Task task = reader.read(op);
    if (auto *collective = std::get_if<CollectiveWork>(&task.work))
      // Whoever waits for one that began later waits for this, too.
      collective->isAsync = onDevice;
    return task;
  }

  const PreparedProgram &program;
  TaskReader reader;
  bool onDevice;
  llvm::DenseMap<Location, unsigned> taken;
};

} // namespace

Step shoal::extractStep(func::FuncOp main, const PreparedProgram &program,
                        bool onDevice) {
  return Extraction(main, program, onDevice).extract(main.front());
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/CostModel/BufferBytes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Simulation/Step.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// An exponential takes about as long as so many additions.
constexpr double kMathOperations = 10;

/// How often a region of the op runs each time that the op does.
static double countIterations(Operation *op) {
  double iterations = 1;
  if (auto generic = dyn_cast<linalg::LinalgOp>(op)) {
    for (int64_t size : generic.getStaticLoopRanges())
      iterations *= ShapedType::isDynamic(size) ? 1 : size;
  } else if (auto loops = dyn_cast<LoopLikeOpInterface>(op)) {
    if (std::optional<APInt> trips = loops.getStaticTripCount())
      iterations = static_cast<double>(trips->getSExtValue());
  }
  return iterations;
}

/// Scalar operations within `op`, as often as loops within it run them.
static double countOperations(Operation *op) {
  double inner = 0;
  for (Region &region : op->getRegions())
    for (Operation &each : region.getOps())
      inner += countOperations(&each);
  double own = isa<math::MathDialect>(op->getDialect()) ? kMathOperations
               : isa<arith::ArithDialect>(op->getDialect()) &&
                       !op->hasTrait<OpTrait::ConstantLike>()
                   ? 1
                   : 0;
  return own + inner * countIterations(op);
}

static std::string typeOf(Value operand) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(operand.getType());
  return text;
}

static ProductShape shapeOf(rt::EinsumOp product) {
  rt::MatrixSizes sizes = product.getMatrixSizes();
  double matrix = static_cast<double>(sizes.rows) * sizes.columns * sizes.sums;
  int64_t batch = matrix > 0 ? std::llround(product.countTerms() / matrix) : 0;
  return {batch, sizes.rows, sizes.columns, sizes.sums};
}

/// Groups of equal sizes.
static ProductShape shapeOf(rt::RaggedEinsumOp product) {
  auto typeOf = [](Value value) { return cast<ShapedType>(value.getType()); };
  size_t place = product.getSpec().find(product.getRows());
  ShapedType lhs = typeOf(product.getLhs());
  int64_t rows = place < static_cast<size_t>(lhs.getRank())
                     ? lhs.getDimSize(place)
                     : lhs.getNumElements();
  int64_t groups = typeOf(product.getBegins()).getNumElements();
  int64_t results = typeOf(product.getOutput()).getNumElements();
  if (rows == 0 || groups == 0 || results == 0)
    return {0, 1, 1, 1};
  double terms = product.countTerms();
  int64_t columns = std::max<int64_t>(1, results / rows);
  int64_t sums =
      std::max<int64_t>(1, std::llround(terms / (double(rows) * columns)));
  return {groups, std::max<int64_t>(1, rows / groups), columns, sums,
          /*hasGroups=*/true};
}

//===----------------------------------------------------------------------===//
// Before it is lowered
//===----------------------------------------------------------------------===//

static CollectiveKind kindOf(StringRef name) {
  return llvm::StringSwitch<CollectiveKind>(name)
      .Case("all_gather", CollectiveKind::AllGather)
      .Case("reduce_scatter", CollectiveKind::ReduceScatter)
      .Case("all_reduce", CollectiveKind::AllReduce)
      .Cases({"all_to_all", "ragged_all_to_all"}, CollectiveKind::AllToAll)
      .Default(CollectiveKind::Permute);
}

/// Positions of the mesh that differ in the digits of a group alone are one.
static std::vector<SmallVector<int64_t>>
groupsOf(ArrayRef<PositionDigit> digits, ArrayRef<int64_t> deviceIds) {
  llvm::MapVector<int64_t, SmallVector<int64_t>> groups;
  for (auto [position, device] : llvm::enumerate(deviceIds)) {
    int64_t rest = position;
    for (PositionDigit digit : digits)
      rest -= position / digit.stride % digit.size * digit.stride;
    groups[rest].push_back(device);
  }
  std::vector<SmallVector<int64_t>> lists;
  for (auto &[rest, group] : groups)
    lists.push_back(group);
  return lists;
}

static CollectiveWork describe(const CollectiveCost &cost, int64_t number) {
  auto op = cast<spmd::CollectiveOpInterface>(cost.op);
  MeshAttr mesh = lookupMesh(op, op.getMeshAttr()).getMesh();
  SmallVector<PositionDigit> digits;
  for (AxisRefAttr axis : op.getGroupAxes())
    digits.push_back(digitOf(axis, mesh));
  CollectiveWork work;
  work.kind = kindOf(cost.kind);
  work.number = number;
  work.axesText = cost.axes;
  for (PositionDigit digit : digits)
    work.axes.push_back({digit.size, digit.stride});
  if (!mesh.getDeviceIds().empty())
    work.groups = groupsOf(digits, mesh.getDeviceIds());
  return work;
}

PreparedProgram shoal::prepareStep(ModuleOp module) {
  PreparedProgram program;
  module.walk<WalkOrder::PreOrder>([&](WhileOp loop) {
    program.trips[loop.getLoc()].push_back(loop.getTripCount());
  });
  for (auto [number, cost] : llvm::enumerate(listCollectives(module)))
    program.collectives.emplace_back(cost, describe(cost, number));
  return program;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

class Extraction {
public:
  Extraction(func::FuncOp main, const PreparedProgram &program)
      : program(program) {
    main.walk([&](rt::WaitOp wait) { waitedFor.insert(wait.getCollective()); });
  }

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
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      addLoop(loop, step);
    else if (auto branch = dyn_cast<RegionBranchOpInterface>(op);
             branch && isa<scf::IfOp, scf::IndexSwitchOp>(op))
      addBranch(op, step);
    else if (computes(op))
      step.push_back(describeTask(op));
  }

  /// What makes no kernel and no call: views, constants, scalars.
  bool computes(Operation *op) {
    if (isa<ViewLikeOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>())
      return false;
    auto isBuffer = [](Type type) { return isa<BaseMemRefType>(type); };
    bool touches = llvm::any_of(op->getOperandTypes(), isBuffer) ||
                   op->getNumRegions() > 0;
    return touches && !isa<rt::ReadScalarOp>(op) && touchedBytes(op) > 0;
  }

  void addLoop(scf::WhileOp op, Step &step) {
    auto loop = std::make_shared<Loop>();
    std::optional<int64_t> known = takeTrips(op.getLoc());
    loop->isKnown = known.has_value();
    loop->trips = known.value_or(1);
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

  Task describeTask(Operation *op) {
    Task task;
    // Loops of our own, whatever they are at this stage.
    bool isKernel =
        !isa<rt::RuntimeCallOpInterface>(op) || isa<rt::LaunchOp>(op);
    task.name = isKernel ? "kernel" : op->getName().stripDialect();
    task.place = sourcePlace(op->getLoc());
    task.layer = namePath(op->getLoc());
    task.bytes = touchedBytes(op);
    auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
    std::optional<int64_t> number =
        call ? call.getCollectiveNumber() : std::nullopt;
    if (number && *number < static_cast<int64_t>(program.collectives.size())) {
      auto [cost, work] = program.collectives[*number];
      work.isAsync = waitedFor.contains(*number);
      task.bytes = cost.bytes;
      task.work = work;
    } else if (auto product = dyn_cast<rt::EinsumOp>(op)) {
      task.work = ProductWork{typeOf(product.getLhs()), shapeOf(product)};
    } else if (auto ragged = dyn_cast<rt::RaggedEinsumOp>(op)) {
      task.work = ProductWork{typeOf(ragged.getLhs()), shapeOf(ragged)};
    } else {
      task.work = describeKernel(op);
    }
    return task;
  }

  static KernelWork describeKernel(Operation *op) {
    KernelWork work;
    work.operations = countOperations(op);
    // Of windows that are moved by index, one for each set of indices.
    if (isa<rt::GatherOp, rt::ScatterOp>(op))
      for (Value operand : op->getOperands())
        if (auto type = dyn_cast<MemRefType>(operand.getType());
            type && type.getElementType().isInteger() && type.hasStaticShape())
          work.indexedRows =
              std::max(work.indexedRows,
                       type.getRank() == 0
                           ? 1
                           : type.getNumElements() /
                                 std::max<int64_t>(1, type.getShape().back()));
    return work;
  }

  const PreparedProgram &program;
  llvm::DenseMap<Location, unsigned> taken;
  llvm::DenseSet<int64_t> waitedFor;
};

} // namespace

Step shoal::extractStep(func::FuncOp main, const PreparedProgram &program) {
  return Extraction(main, program).extract(main.front());
}

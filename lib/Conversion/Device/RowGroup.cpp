// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowGroup.h"
#include "../Buffers/BufferRange.h"
#include "DenseLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

/// A thread's code is not unrolled beyond this many operations.
static constexpr int64_t kMaxRowBody = 4096;

bool RowSlot::isLocal() const {
  return buffer.getDefiningOp<memref::AllocaOp>() != nullptr;
}

int64_t RowGroup::trips() const {
  return llvm::divideCeil(units, schedule.lanes);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {

/// The ranges of the loops that the ops of a group have in common.
struct Space {
  SmallVector<int64_t> ranges;
  unsigned rows = 0;
};

} // namespace

/// The space of the first reduction: its parallel loops, then the reduced ones.
static std::optional<Space> findSpace(ArrayRef<linalg::GenericOp> ops) {
  const auto *reduction = llvm::find_if(
      ops, [](linalg::GenericOp op) { return op.getNumReductionLoops() > 0; });
  if (reduction == ops.end())
    return std::nullopt;
  linalg::GenericOp op = *reduction;
  Space space{op.getStaticLoopRanges(), op.getNumParallelLoops()};
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if ((loop < space.rows) != (kind == utils::IteratorType::parallel))
      return std::nullopt;
  return space;
}

/// Whether the op runs through the space, or through its rows alone.
static bool runsThrough(linalg::GenericOp op, const Space &space) {
  ArrayRef<int64_t> ranges(space.ranges);
  SmallVector<int64_t> own = op.getStaticLoopRanges();
  if (op.getNumReductionLoops() == 0 &&
      ArrayRef(own) == ranges.take_front(space.rows))
    return true;
  if (ArrayRef(own) != ranges)
    return false;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction && loop < space.rows)
      return false;
  return op.getNumReductionLoops() == 0 ||
         op.getNumParallelLoops() == space.rows;
}

/// Whether the op is one of plain accesses, to buffers that its operands are.
static bool isPlain(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.hasDynamicShape())
    return false;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (!llvm::all_of(captured, [](Value value) {
        return matchPattern(value, m_Constant());
      }))
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    return (matchPattern(operand.get(), m_Constant()) ||
            (type && isKernelBuffer(type))) &&
           op.getMatchingIndexingMap(&operand).isProjectedPermutation(
               /*allowZeroInResults=*/true);
  });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static RowSlot makeSlot(OpOperand &operand, const Space &space,
                        unsigned phase) {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  RowSlot slot;
  slot.buffer = operand.get();
  slot.strides.assign(space.ranges.size(), 0);
  SmallVector<int64_t> strides;
  (void)cast<MemRefType>(operand.get().getType())
      .getStridesAndOffset(strides, slot.offset);
  for (auto [expr, stride] : llvm::zip_equal(
           op.getMatchingIndexingMap(&operand).getResults(), strides))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      slot.strides[dim.getPosition()] += stride;
  slot.isScalar = llvm::all_of(ArrayRef(slot.strides).drop_front(space.rows),
                               [](int64_t stride) { return stride == 0; });
  slot.first = slot.last = phase;
  return slot;
}

/// Adds what the op's operands touch. An op reads before it writes.
static void addSlots(RowGroup &group, RowPhase &phase, const Space &space) {
  unsigned number = group.phases.size();
  phase.slots.resize(phase.op->getNumOperands());
  for (OpOperand &operand : phase.op->getOpOperands()) {
    unsigned place = operand.getOperandNumber();
    const Access &access = phase.nest.accesses[place];
    if (!access.isTouched())
      continue;
    RowSlot slot = makeSlot(operand, space, number);
    auto found = llvm::find_if(group.slots, [&](const RowSlot &other) {
      return other.buffer == slot.buffer && other.offset == slot.offset &&
             other.strides == slot.strides;
    });
    if (found == group.slots.end())
      found = group.slots.insert(found, slot);
    phase.slots[place] = found - group.slots.begin();
    found->last = number;
    found->isLoaded |=
        access.isRead && (!found->lastWrite || *found->lastWrite == number);
    if (access.isWritten)
      found->lastWrite = number;
  }
}

/// Whether what is written is one element for each row, or for each row and
/// column, and nothing else in the group is in the same memory. A row's element
/// is read by all its threads and written by one, so that it is not to be both.
static bool isPrivate(const RowGroup &group, const RowSlot &slot,
                      const Space &space) {
  if (slot.isScalar && slot.isLoaded)
    return false;
  for (auto [loop, range] : llvm::enumerate(space.ranges)) {
    bool isIndexed = loop < space.rows || !slot.isScalar;
    if (range != 1 && (slot.strides[loop] != 0) != isIndexed)
      return false;
  }
  Value root = findBuffer(slot.buffer);
  return llvm::none_of(group.slots, [&](const RowSlot &other) {
    return &other != &slot && findBuffer(other.buffer) == root;
  });
}

/// Words that a thread keeps between two ops for each column that it has.
static int64_t countHeldWords(const RowGroup &group) {
  int64_t most = 0;
  for (unsigned phase = 1; phase < group.phases.size(); ++phase) {
    int64_t words = 0;
    for (const RowSlot &slot : group.slots)
      if (!slot.isScalar && slot.first < phase && phase <= slot.last)
        words += llvm::divideCeil(
            getElementTypeOrSelf(slot.buffer).getIntOrFloatBitWidth(), 32);
    most = std::max(most, words);
  }
  return most;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static SmallVector<unsigned> loopsOf(const LoopNest &nest, bool reduced) {
  SmallVector<unsigned> loops;
  for (auto [number, loop] : llvm::enumerate(nest.loops))
    if (loop.isReduced == reduced)
      loops.push_back(number);
  return loops;
}

/// The vector that suits all ops, along the last column loop; none where that
/// is not the one along which most lies densely.
static std::optional<int64_t> chooseRowVector(const RowGroup &group,
                                              const DeviceLimits &limits) {
  int64_t vector = limits.vectorBytes;
  for (const RowPhase &phase : group.phases) {
    linalg::GenericOp op = phase.op;
    SmallVector<unsigned> columns = loopsOf(phase.nest, true);
    if (!phase.hasColumns)
      continue;
    if (columns.empty()) // A single one.
      return 1;
    if (op.getNumReductionLoops() > 0 &&
        findDenseLoop(phase.nest) != columns.back())
      return std::nullopt;
    int64_t range = phase.nest.loops[columns.back()].range;
    vector = std::min(vector, chooseVector(phase.nest, columns.back(), limits));
    while (range % vector != 0)
      vector /= 2;
  }
  return vector;
}

/// Threads for the rows, as many as their elements need.
static bool chooseThreads(RowGroup &group, const DeviceLimits &limits) {
  int64_t held = countHeldWords(group), body = 0;
  for (const RowPhase &phase : group.phases)
    body += phase.nest.bodySize;
  KernelSchedule &schedule = group.schedule;
  schedule.lanes = chooseLanes(group.units, group.rows, limits);
  // A thread of the largest block keeps half of its registers from op to op.
  int64_t heldWords = limits.registers / limits.blockThreads / 2;
  auto fits = [&] {
    int64_t columns = group.trips() * schedule.vector;
    return columns * held <= heldWords && columns * body <= kMaxRowBody;
  };
  while (!fits() && schedule.lanes < limits.blockThreads)
    schedule.lanes *= 2;
  if (!fits())
    return false;
  spreadRows(schedule, group.rows, limits);
  int64_t iterations = group.rows * group.units * schedule.vector;
  return !leavesDeviceIdle(schedule.blocks, iterations, limits);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static bool addPhase(RowGroup &group, linalg::GenericOp op,
                     const Space &space) {
  if (!isPlain(op) || !runsThrough(op, space))
    return false;
  FailureOr<LoopNest> nest = analyzeLoops(op, space.rows);
  if (failed(nest) || nest->isEmpty() || !nest->combinesInAnyOrder)
    return false;
  for (int64_t result = 0; result < op.getNumDpsInits(); ++result) {
    Access &access = nest->accesses[op.getNumDpsInputs() + result];
    if (nest->getResultKind(access) == ResultKind::Mixed)
      return false;
    if (getInitial(op, result))
      access.isRead = false;
  }
  RowPhase phase;
  phase.op = op;
  phase.nest = *nest;
  phase.hasColumns = op.getNumLoops() > space.rows;
  phase.schedule.parallel = loopsOf(*nest, false);
  phase.schedule.reduced = loopsOf(*nest, true);
  addSlots(group, phase, space);
  group.phases.push_back(std::move(phase));
  return true;
}

/// The phases' schedules: the group's, with their own loops.
static void completePhases(RowGroup &group, const DeviceLimits &limits) {
  for (const RowPhase &phase : group.phases)
    group.schedule.usesInt32 &= usesInt32(phase.nest, group.schedule, limits);
  for (RowPhase &phase : group.phases) {
    KernelSchedule schedule = group.schedule;
    schedule.parallel = std::move(phase.schedule.parallel);
    schedule.reduced = std::move(phase.schedule.reduced);
    schedule.vector = phase.hasColumns ? schedule.vector : 1;
    phase.schedule = std::move(schedule);
  }
}

std::optional<RowGroup> shoal::analyzeRowGroup(ArrayRef<linalg::GenericOp> ops,
                                               const DeviceLimits &limits) {
  std::optional<Space> space = findSpace(ops);
  if (!space)
    return std::nullopt;
  RowGroup group;
  group.schedule.shape = KernelShape::FusedRows;
  for (linalg::GenericOp op : ops)
    if (!addPhase(group, op, *space))
      return std::nullopt;
  for (const RowSlot &slot : group.slots)
    if (slot.lastWrite && !isPrivate(group, slot, *space))
      return std::nullopt;
  std::optional<int64_t> vector = chooseRowVector(group, limits);
  if (!vector)
    return std::nullopt;
  group.schedule.vector = *vector;
  ArrayRef<int64_t> ranges(space->ranges);
  for (int64_t range : ranges.take_front(space->rows))
    group.rows *= range;
  for (int64_t range : ranges.drop_front(space->rows))
    group.units *= range;
  group.units /= *vector;
  bool hasColumns = group.units * *vector > 1;
  if (!hasColumns || !chooseThreads(group, limits))
    return std::nullopt;
  completePhases(group, limits);
  return group;
}

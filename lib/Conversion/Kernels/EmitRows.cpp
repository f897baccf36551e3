// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EmitRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

namespace {

class RowEmitter {
public:
  RowEmitter(const RowGroup &group,
             ArrayRef<std::unique_ptr<KernelEmitter>> emitters)
      : group(group), emitters(emitters), held(group.slots.size()) {}

  void emit();

private:
  /// The elements of a slot that a thread has: by trip, of each trip a vector;
  /// of a slot with one element a row that one.
  using Held = SmallVector<Values>;

  void emitPhase(unsigned number);
  void loadScalars(KernelEmitter &e, const RowPhase &phase,
                   ArrayRef<Value> indices);
  void emitScalarPhase(KernelEmitter &e, unsigned number,
                       ArrayRef<Value> indices);
  /// One trip of a phase; from the sums so far to those with this trip's.
  Values emitTrip(KernelEmitter &e, unsigned number, int64_t trip,
                  const Values &indices, const Values &sums);
  void storeSums(KernelEmitter &e, unsigned number, Values sums,
                 ArrayRef<Value> indices);

  /// The slots whose elements a trip leaves behind: loaded or computed by it.
  SmallVector<unsigned> newSlots(const RowPhase &phase);
  /// The phase's operand that the slot is first.
  static unsigned operandOf(const RowPhase &phase, unsigned slot);
  Values argumentsAt(KernelEmitter &e, const RowPhase &phase, int64_t trip,
                     int64_t element, ArrayRef<Value> sums);
  bool isStored(unsigned slot, unsigned phase) const;
  void storeScalar(KernelEmitter &e, unsigned number, unsigned result,
                   Value value, ArrayRef<Value> indices);

  const RowGroup &group;
  ArrayRef<std::unique_ptr<KernelEmitter>> emitters;
  SmallVector<Held> held;
  /// Shared memory of each phase's reductions.
  SmallVector<Values> shared;

  Value thread, lane, row;
  /// Whether the thread's row exists; null where all do. `row` is another's
  /// where it does not.
  Value isRow;
};

} // namespace

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

unsigned RowEmitter::operandOf(const RowPhase &phase, unsigned slot) {
  return llvm::find(phase.slots, std::optional(slot)) - phase.slots.begin();
}

SmallVector<unsigned> RowEmitter::newSlots(const RowPhase &phase) {
  llvm::SetVector<unsigned> slots;
  for (auto [operand, slot] : llvm::enumerate(phase.slots))
    if (slot && !group.slots[*slot].isScalar &&
        (held[*slot].empty() || phase.nest.accesses[operand].isWritten))
      slots.insert(*slot);
  return slots.takeVector();
}

/// Local buffers have no memory, and of values that are written over nobody
/// sees anything.
bool RowEmitter::isStored(unsigned slot, unsigned phase) const {
  return group.slots[slot].lastWrite == phase && !group.slots[slot].isLocal();
}

void RowEmitter::loadScalars(KernelEmitter &e, const RowPhase &phase,
                             ArrayRef<Value> indices) {
  for (auto [operand, slot] : llvm::enumerate(phase.slots))
    if (slot && group.slots[*slot].isScalar && held[*slot].empty() &&
        phase.nest.accesses[operand].isRead)
      held[*slot] = {{e.load(operand, e.address(operand, indices))}};
}

Values RowEmitter::argumentsAt(KernelEmitter &e, const RowPhase &phase,
                               int64_t trip, int64_t element,
                               ArrayRef<Value> sums) {
  Values arguments;
  for (auto [operand, slot] : llvm::enumerate(phase.slots)) {
    if (!slot || !phase.nest.accesses[operand].isRead)
      arguments.push_back(e.withoutMemory(operand).front());
    else if (group.slots[*slot].isScalar)
      arguments.push_back(held[*slot][0][0]);
    else
      arguments.push_back(held[*slot][trip][element]);
  }
  for (auto [result, sum] : llvm::zip(e.reducedResults(), sums))
    arguments[e.operandOf(result)] = sum;
  return arguments;
}

void RowEmitter::storeScalar(KernelEmitter &e, unsigned number, unsigned result,
                             Value value, ArrayRef<Value> indices) {
  unsigned operand = e.operandOf(result);
  unsigned slot = *group.phases[number].slots[operand];
  held[slot] = {{value}};
  if (!isStored(slot, number))
    return;
  Value isFirst = e.isLess(lane, 1);
  e.ifTrue(isRow ? e.both(isFirst, isRow) : isFirst,
           [&] { e.store(operand, e.address(operand, indices), value); });
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void RowEmitter::emitScalarPhase(KernelEmitter &e, unsigned number,
                                 ArrayRef<Value> indices) {
  const RowPhase &phase = group.phases[number];
  Values results = e.runBody(indices, argumentsAt(e, phase, 0, 0, {}));
  for (auto [result, value] : llvm::enumerate(results))
    storeScalar(e, number, result, value, indices);
}

Values RowEmitter::emitTrip(KernelEmitter &e, unsigned number, int64_t trip,
                            const Values &indices, const Values &sums) {
  const RowPhase &phase = group.phases[number];
  int64_t vector = phase.schedule.vector;
  Values inner = indices;
  Value unit = e.add(lane, e.constant(trip * group.schedule.lanes));
  e.setIndices(unit, phase.schedule.reduced, vector, inner);
  for (auto [operand, slot] : llvm::enumerate(phase.slots))
    if (slot && !group.slots[*slot].isScalar &&
        static_cast<int64_t>(held[*slot].size()) <= trip &&
        phase.nest.accesses[operand].isRead)
      held[*slot].push_back(e.loadVector(operand, inner));
  SmallVector<unsigned> reduced = e.reducedResults();
  SmallVector<Values> results(e.op.getNumDpsInits());
  Values next = sums;
  for (int64_t i = 0; i < vector; ++i) {
    Values yielded =
        e.runBody(e.moved(inner, i), argumentsAt(e, phase, trip, i, next));
    for (auto [sum, result] : llvm::zip_equal(next, reduced))
      sum = yielded[result];
    for (auto [values, value] : llvm::zip_equal(results, yielded))
      values.push_back(value);
  }
  for (auto [result, values] : llvm::enumerate(results)) {
    unsigned operand = e.operandOf(result), slot = *phase.slots[operand];
    if (llvm::is_contained(reduced, result))
      continue;
    held[slot].resize(std::max<size_t>(held[slot].size(), trip + 1));
    held[slot][trip] = values;
    if (isStored(slot, number))
      e.storeVector(operand, inner, values);
  }
  return next;
}

void RowEmitter::storeSums(KernelEmitter &e, unsigned number, Values sums,
                           ArrayRef<Value> indices) {
  sums = combineRow(e, sums, thread, group.schedule.lanes, shared[number]);
  Values old;
  for (unsigned result : e.reducedResults()) {
    std::optional<unsigned> slot =
        group.phases[number].slots[e.operandOf(result)];
    bool isHeld = !getInitial(e.op, result) && !held[*slot].empty();
    old.push_back(isHeld ? held[*slot][0][0] : e.loadInitial(result, indices));
  }
  Values combined = e.combineSums(old, sums);
  for (auto [result, value] : llvm::zip_equal(e.reducedResults(), combined))
    storeScalar(e, number, result, value, indices);
}

void RowEmitter::emitPhase(unsigned number) {
  KernelEmitter &e = *emitters[number];
  const RowPhase &phase = group.phases[number];
  Values indices = e.zeroIndices();
  e.setIndices(row, phase.schedule.parallel, /*lastStep=*/1, indices);
  loadScalars(e, phase, indices);
  if (!phase.hasColumns)
    return emitScalarPhase(e, number, indices);
  SmallVector<unsigned> fresh = newSlots(phase);
  Values sums = e.neutralElements();
  for (int64_t trip = 0; trip < group.trips(); ++trip) {
    bool isWhole = (trip + 1) * group.schedule.lanes <= group.units;
    Value condition = isRow;
    if (!isWhole) {
      condition = e.isLess(lane, group.units - trip * group.schedule.lanes);
      condition = isRow ? e.both(condition, isRow) : condition;
    }
    if (!condition) {
      sums = emitTrip(e, number, trip, indices, sums);
      continue;
    }
    // What the trip leaves behind goes out of the branch.
    Values otherwise = sums;
    for (unsigned slot : fresh)
      otherwise.append(phase.schedule.vector,
                       e.zero(e.elementType(operandOf(phase, slot))));
    Values left = e.ifTrue(condition, otherwise, [&] {
      Values values = emitTrip(e, number, trip, indices, sums);
      for (unsigned slot : fresh)
        llvm::append_range(values, held[slot][trip]);
      return values;
    });
    ArrayRef<Value> rest(left);
    sums.assign(rest.begin(), rest.begin() + sums.size());
    rest = rest.drop_front(sums.size());
    for (unsigned slot : fresh) {
      held[slot][trip] = Values(rest.take_front(phase.schedule.vector));
      rest = rest.drop_front(phase.schedule.vector);
    }
  }
  if (!sums.empty())
    storeSums(e, number, sums, indices);
}

void RowEmitter::emit() {
  KernelEmitter &frame = *emitters.front();
  const KernelSchedule &schedule = group.schedule;
  for (const std::unique_ptr<KernelEmitter> &e : emitters)
    shared.push_back(allocateForWarps(*e, schedule.lanes));
  int64_t rowsOfBlock = schedule.blockX / schedule.lanes;
  frame.forEachBlock([&](Value block) {
    for (const std::unique_ptr<KernelEmitter> &e : emitters)
      e->builder.restoreInsertionPoint(frame.builder.saveInsertionPoint());
    thread = frame.threadX();
    lane = frame.rem(thread, schedule.lanes);
    row = frame.add(frame.mul(block, rowsOfBlock),
                    frame.div(thread, schedule.lanes));
    if (group.rows % rowsOfBlock != 0) {
      isRow = frame.isLess(row, group.rows);
      row = frame.smaller(row, group.rows - 1);
    }
    for (unsigned number = 0; number < group.phases.size(); ++number)
      emitPhase(number);
    // The next row's sums go to the same places.
    if (schedule.lanes > 32 && schedule.grid != schedule.blocks)
      frame.barrier();
  });
}

void shoal::emitRows(const RowGroup &group,
                     ArrayRef<std::unique_ptr<KernelEmitter>> emitters) {
  RowEmitter(group, emitters).emit();
}

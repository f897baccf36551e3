// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HeldAtPeak.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace shoal;

namespace {

/// Places, both included.
struct Span {
  int64_t first = 0, last = -1;

  bool meets(const Span &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// What an op of the buffer's block, or in one's regions, does with it.
struct Access {
  Operation *op;
  Span span = {};
  bool reads = false, writes = false;
};

} // namespace

/// From the first place at which most is live as far as it lasts.
static Span findPeak(ArrayRef<Buffer> buffers) {
  SmallVector<std::pair<int64_t, int64_t>> changes;
  for (const Buffer &buffer : buffers) {
    changes.push_back({buffer.first, buffer.bytes});
    changes.push_back({buffer.last + 1, -buffer.bytes});
  }
  llvm::sort(changes);
  int64_t live = 0, most = 0;
  Span peak;
  for (auto [number, change] : llvm::enumerate(changes)) {
    live += change.second;
    bool isLast = number + 1 == changes.size();
    if (!isLast && changes[number + 1].first == change.first)
      continue;
    if (live > most) {
      most = live;
      peak = {change.first, changes[number + 1].first - 1};
    }
  }
  return peak;
}

/// What the op does with the memory that `view` is a part of. Of one that does
/// not say, both.
static Access accessOf(Operation *op, Value view) {
  Access access{op};
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface) {
    access.reads = access.writes = !isMemoryEffectFree(op);
    return access;
  }
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffectsOnValue(view, effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    access.reads |= isa<MemoryEffects::Read>(effect.getEffect());
    access.writes |= isa<MemoryEffects::Write>(effect.getEffect());
  }
  return access;
}

/// In program order.
static SmallVector<Access> findAccesses(Value memory,
                                        const BufferViewFlowAnalysis &views,
                                        const Places &places) {
  SmallVector<Access> accesses;
  for (Value view : views.resolve(memory))
    for (Operation *user : view.getUsers()) {
      Access access = accessOf(user, view);
      if (!access.reads && !access.writes)
        continue;
      // Its body is a part of it.
      if (auto nest = user->getParentOfType<linalg::LinalgOp>())
        access.op = nest;
      auto [first, last] =
          places[memory.getParentBlock()->findAncestorOpInBlock(*user)];
      access.span = {first, last};
      accesses.push_back(access);
    }
  llvm::sort(accesses, [&](const Access &a, const Access &b) {
    return std::pair(a.span.first, places[a.op].first) <
           std::pair(b.span.first, places[b.op].first);
  });
  return accesses;
}

static MemoryPlan::Held describe(int64_t number, ArrayRef<Access> accesses,
                                 const Span &peak, MLIRContext *context) {
  MemoryPlan::Held held{number, UnknownLoc::get(context), /*isIdle=*/false,
                        /*isLast=*/false, /*readers=*/{}};
  held.isIdle = llvm::none_of(
      accesses, [&](const Access &access) { return access.span.meets(peak); });
  const Access *maker = nullptr;
  for (const Access &access : accesses)
    if (access.writes && access.span.first <= peak.last)
      maker = &access;
  if (!maker)
    return held; // parts of it that others write lie there
  held.maker = maker->op->getLoc();
  for (const Access &access : llvm::make_range(maker + 1, accesses.end())) {
    if (access.reads && access.span.last >= peak.first)
      held.readers.push_back(access.op->getLoc());
    if (access.writes) // something else from here on
      return held;
  }
  held.isLast = true;
  return held;
}

SmallVector<MemoryPlan::Held> shoal::findHeldAtPeak(ArrayRef<Buffer> buffers,
                                                    func::FuncOp func,
                                                    const Places &places) {
  Span peak = findPeak(buffers);
  SmallVector<int64_t> numbers;
  for (auto [number, buffer] : llvm::enumerate(buffers))
    if (peak.meets({buffer.first, buffer.last}))
      numbers.push_back(number);
  llvm::sort(numbers, [&](int64_t a, int64_t b) {
    return std::pair(-buffers[a].bytes, a) < std::pair(-buffers[b].bytes, b);
  });
  if (numbers.size() > MemoryPlan::kMostHeld)
    numbers.truncate(MemoryPlan::kMostHeld);
  SmallVector<MemoryPlan::Held> held;
  if (numbers.empty())
    return held;
  BufferViewFlowAnalysis views(func);
  for (int64_t number : numbers)
    held.push_back(describe(number,
                            findAccesses(buffers[number].memory, views, places),
                            peak, func.getContext()));
  return held;
}

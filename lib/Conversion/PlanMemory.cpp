// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-plan-memory.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/MemoryPlan.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_PLANMEMORY
#include "shoal/Conversion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

namespace {

/// A buffer with the ops (by their place in the block) from which to which it
/// holds a value that is still read.
struct Buffer {
  memref::AllocOp alloc;
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
  int64_t offset = 0;

  int64_t end() const { return offset + bytes; }
  bool overlaps(const Buffer &other) const {
    return first <= other.last && other.first <= last;
  }
};

} // namespace

namespace {

/// The ops of a function in program order, an op with regions from before to
/// behind what is in them.
class Places {
public:
  explicit Places(func::FuncOp func) {
    func.walk([&](Operation *op, const WalkStage &stage) {
      if (stage.isBeforeAllRegions())
        ranges[op].first = add(op);
      if (stage.isAfterAllRegions())
        ranges[op].second = add(op);
    });
  }

  std::pair<int64_t, int64_t> operator[](Operation *op) const {
    return ranges.lookup(op);
  }
  Operation *opAt(int64_t place) const { return ops[place]; }

private:
  int64_t add(Operation *op) {
    ops.push_back(op);
    return ops.size() - 1;
  }

  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> ranges;
  SmallVector<Operation *> ops;
};

} // namespace

/// The buffer is live from its first to its last use; where a use is in a loop
/// that the buffer is not in, as long as the loop runs. Nothing where it is
/// used outside of the block that it is made in: by the next trip, that is.
static std::optional<Buffer> measure(memref::AllocOp alloc,
                                     const BufferViewFlowAnalysis &views,
                                     const Places &places) {
  Buffer buffer{alloc};
  buffer.bytes = llvm::alignTo(
      std::max<int64_t>(sizeInBytes(alloc.getType()), 1), kArenaAlignment);
  buffer.first = INT64_MAX;
  buffer.last = places[alloc].first;
  for (Value view : views.resolve(alloc))
    for (Operation *user : view.getUsers()) {
      Operation *around = alloc->getBlock()->findAncestorOpInBlock(*user);
      if (!around)
        return std::nullopt;
      auto [first, last] = places[around];
      buffer.first = std::min(buffer.first, first);
      buffer.last = std::max(buffer.last, last);
    }
  buffer.first = std::min(buffer.first, buffer.last);
  return buffer;
}

/// The buffers of the function in program order.
static FailureOr<SmallVector<Buffer>> findBuffers(func::FuncOp func,
                                                  const Places &places) {
  BufferViewFlowAnalysis views(func);
  SmallVector<Buffer> buffers;
  WalkResult walk = func.walk([&](memref::AllocOp alloc) {
    std::optional<Buffer> buffer;
    if (alloc.getType().hasStaticShape())
      buffer = measure(alloc, views, places);
    if (!buffer) {
      alloc.emitOpError("cannot be placed in the arena: expected a static "
                        "buffer that is used in its own block alone");
      return WalkResult::interrupt();
    }
    buffers.push_back(*buffer);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return buffers;
}

/// Best fit: the smallest gap between the placed buffers that are live at the
/// same time, or else behind them all.
static int64_t findOffset(const Buffer &buffer, ArrayRef<Buffer *> placed) {
  SmallVector<Buffer *> rivals;
  for (Buffer *other : placed)
    if (buffer.overlaps(*other))
      rivals.push_back(other);
  llvm::sort(rivals,
             [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
  int64_t best = -1, bestGap = INT64_MAX, top = 0;
  for (Buffer *rival : rivals) {
    int64_t gap = rival->offset - top;
    if (gap >= buffer.bytes && gap < bestGap) {
      best = top;
      bestGap = gap;
    }
    top = std::max(top, rival->end());
  }
  return best >= 0 ? best : top;
}

/// Gives every buffer its offset and returns the arena's size.
static int64_t place(MutableArrayRef<Buffer> buffers) {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  // Ties in program order, which is their order in memory.
  llvm::sort(order, [](Buffer *a, Buffer *b) {
    return std::tuple(-a->bytes, a) < std::tuple(-b->bytes, b);
  });
  int64_t size = 0;
  for (auto [number, buffer] : llvm::enumerate(order)) {
    buffer->offset = findOffset(*buffer, ArrayRef(order).take_front(number));
    size = std::max(size, buffer->end());
  }
  return size;
}

/// The largest sum of the buffers that are live at one time.
static int64_t countLiveBytes(ArrayRef<Buffer> buffers) {
  int64_t peak = 0;
  for (const Buffer &at : buffers) {
    int64_t live = 0;
    for (const Buffer &other : buffers)
      if (other.first <= at.first && at.first <= other.last)
        live += other.bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

/// The plan in steps: the places, of all, where a buffer's life begins or ends.
/// Those before and behind an op are one if none is between them.
static MemoryPlan describePlan(ArrayRef<Buffer> buffers, const Places &places) {
  std::map<int64_t, int64_t> steps;
  for (const Buffer &buffer : buffers)
    steps[buffer.first] = steps[buffer.last] = 0;
  MemoryPlan plan;
  Operation *previous = nullptr;
  for (auto &[place, step] : steps) {
    Operation *op = places.opAt(place);
    if (op != previous)
      plan.steps.push_back(op->getLoc());
    previous = op;
    step = plan.steps.size() - 1;
  }
  for (const Buffer &buffer : buffers) {
    memref::AllocOp alloc = buffer.alloc;
    plan.buffers.push_back({buffer.offset, buffer.bytes, steps[buffer.first],
                            steps[buffer.last], alloc.getType()});
  }
  return plan;
}

static void replaceByViews(func::FuncOp func, ArrayRef<Buffer> buffers,
                           int64_t size) {
  Builder attributes(func.getContext());
  auto type = MemRefType::get({size}, attributes.getI8Type());
  unsigned number = func.getNumArguments();
  (void)func.insertArgument(number, type, DictionaryAttr(), func.getLoc());
  Value arena = func.getArgument(number);
  for (const Buffer &buffer : buffers) {
    memref::AllocOp alloc = buffer.alloc;
    OpBuilder builder(alloc);
    Value offset =
        arith::ConstantIndexOp::create(builder, alloc.getLoc(), buffer.offset);
    Value view = memref::ViewOp::create(
        builder, alloc.getLoc(), alloc.getType(), arena, offset, ValueRange());
    alloc->replaceAllUsesWith(ValueRange(view));
    alloc->erase();
  }
}

/// An unused argument of no elements becomes a memref<0x...>: the lowering to
/// LLVM takes those alone.
static void flattenEmptyArguments(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (type && type.hasStaticShape() && type.getNumElements() == 0 &&
        argument.use_empty())
      argument.setType(MemRefType::get({0}, type.getElementType()));
  }
  func.setType(FunctionType::get(func.getContext(),
                                 func.front().getArgumentTypes(),
                                 func.getResultTypes()));
}

namespace {

struct PlanMemory : shoal::impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || !func.isPublic())
        continue;
      if (!func.getBody().hasOneBlock()) {
        func.emitOpError("cannot be planned: expected a single block");
        return signalPassFailure();
      }
      Places places(func);
      FailureOr<SmallVector<Buffer>> buffers = findBuffers(func, places);
      if (failed(buffers))
        return signalPassFailure();
      int64_t size = place(*buffers);
      func->setAttr(kMemoryPlanAttr,
                    toAttribute(describePlan(*buffers, places), &getContext()));
      replaceByViews(func, *buffers, size);
      flattenEmptyArguments(func);
      Builder builder(&getContext());
      func->setAttr(kArenaBytesAttr, builder.getI64IntegerAttr(size));
      func->setAttr(kLiveBytesAttr,
                    builder.getI64IntegerAttr(countLiveBytes(*buffers)));
    }
  }
};

} // namespace

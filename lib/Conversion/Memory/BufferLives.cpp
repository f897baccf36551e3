// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BufferLives.h"
#include "../Buffers/BufferAccess.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "shoal/Conversion/Buffers/Passes.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Lives
//===----------------------------------------------------------------------===//

Places::Places(func::FuncOp func) {
  func.walk([&](Operation *op, const WalkStage &stage) {
    if (stage.isBeforeAllRegions())
      ranges[op].first = add(op);
    if (stage.isAfterAllRegions())
      ranges[op].second = add(op);
  });
}

int64_t Places::add(Operation *op) {
  ops.push_back(op);
  return ops.size() - 1;
}

/// The buffer is live from its first to its last use, of which one is at
/// `last`; where a use is in a loop that the buffer is not in, as long as the
/// loop runs. Nothing where it is used outside of the block that it is made in:
/// by the next trip, that is.
static std::optional<Buffer> measure(Value memory, int64_t last,
                                     const BufferViewFlowAnalysis &views,
                                     const Places &places) {
  Buffer buffer{memory};
  buffer.bytes = llvm::alignTo(
      std::max<int64_t>(sizeInBytes(buffer.getType()), 1), kArenaAlignment);
  buffer.first = INT64_MAX;
  buffer.last = last;
  for (Value view : views.resolve(memory))
    for (Operation *user : view.getUsers()) {
      Operation *around = memory.getParentBlock()->findAncestorOpInBlock(*user);
      if (!around)
        return std::nullopt;
      auto [first, last] = places[around];
      buffer.first = std::min(buffer.first, first);
      buffer.last = std::max(buffer.last, last);
    }
  buffer.first = std::min(buffer.first, buffer.last);
  return buffer;
}

/// Whether the argument is a result in whose memory others may lie before.
static bool isShared(func::FuncOp func, BlockArgument argument) {
  auto type = dyn_cast<MemRefType>(argument.getType());
  return type && func.getArgAttr(argument.getArgNumber(), kResultAttr) &&
         type.hasStaticShape() && type.getLayout().isIdentity() &&
         sizeInBytes(type) >= kLeastSharedResult;
}

FailureOr<SmallVector<Buffer>>
shoal::findBuffers(func::FuncOp func, const Places &places,
                   llvm::function_ref<void(memref::AllocOp)> report) {
  BufferViewFlowAnalysis views(func);
  SmallVector<Buffer> buffers;
  int64_t end = places[func.front().getTerminator()].first;
  for (BlockArgument argument : func.getArguments())
    if (isShared(func, argument))
      buffers.push_back(*measure(argument, end, views, places));
  WalkResult walk = func.walk([&](memref::AllocOp alloc) {
    std::optional<Buffer> buffer;
    if (alloc.getType().hasStaticShape())
      buffer = measure(alloc, places[alloc].first, views, places);
    if (!buffer) {
      report(alloc);
      return WalkResult::interrupt();
    }
    buffers.push_back(*buffer);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return buffers;
}

/// The first op behind the collective in its block that waits for it.
static Operation *findWait(Operation *collective) {
  std::optional<SmallVector<BufferAccess>> own = accessesOf(collective);
  for (Operation *op = collective->getNextNode(); op; op = op->getNextNode()) {
    std::optional<SmallVector<BufferAccess>> accesses = accessesOf(op);
    if (!own || !accesses || op->hasTrait<OpTrait::IsTerminator>() ||
        conflict(*own, *accesses))
      return op;
  }
  return nullptr;
}

void shoal::keepUntilWaits(MutableArrayRef<Buffer> buffers,
                           const llvm::DenseMap<Value, Value> &wholes,
                           func::FuncOp func, const Places &places,
                           int64_t bytes) {
  llvm::DenseMap<Value, Buffer *> byAllocation;
  for (Buffer &buffer : buffers)
    byAllocation[buffer.memory] = &buffer;
  func.walk([&](rt::RuntimeCallOpInterface call) {
    Operation *wait = call.getCollectiveNumber() ? findWait(call) : nullptr;
    if (!wait)
      return;
    auto destination = cast<DestinationStyleOpInterface>(call.getOperation());
    for (Value input : destination.getDpsInputs()) {
      Value memory = findBuffer(input);
      if (Value whole = wholes.lookup(memory))
        memory = whole;
      Buffer *buffer = byAllocation.lookup(memory);
      if (!buffer || buffer->memory.getParentBlock() != call->getBlock())
        continue;
      int64_t last = buffer->last;
      buffer->last = std::max(last, places[wait].first - 1);
      if (buffer->last != last && countLiveBytes(buffers) > bytes)
        buffer->last = last;
    }
  });
}

int64_t shoal::spareForBackground(func::FuncOp func, const MemorySize &size) {
  // Results are arguments, too.
  int64_t bytes = size.arena;
  for (Type type : func.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type);
        buffer && buffer.hasStaticShape())
      bytes += sizeInBytes(buffer);
  return bytes / 16;
}

//===----------------------------------------------------------------------===//
// Places in memory
//===----------------------------------------------------------------------===//

static bool liesBefore(const Buffer *a, const Buffer *b) {
  return std::pair(a->offset, a->end()) < std::pair(b->offset, b->end());
}

/// Best fit: the smallest gap between the placed buffers, in the order of
/// memory, that are live at the same time, or else behind them all.
static int64_t findOffset(const Buffer &buffer, ArrayRef<Buffer *> placed) {
  int64_t best = -1, bestGap = INT64_MAX, top = 0;
  for (Buffer *rival : placed) {
    if (!buffer.overlaps(*rival))
      continue;
    int64_t gap = rival->offset - top;
    if (gap >= buffer.bytes && gap < bestGap) {
      best = top;
      bestGap = gap;
    }
    top = std::max(top, rival->end());
  }
  return best >= 0 ? best : top;
}

/// The results one behind the other as they begin, and in that order: what is
/// not written yet is one piece.
static int64_t placeResults(SmallVector<Buffer *> &results) {
  SmallVector<std::tuple<int64_t, size_t, Buffer *>> order;
  for (auto [number, result] : llvm::enumerate(results))
    order.emplace_back(result->first, number, result);
  llvm::sort(order);
  int64_t end = 0;
  for (auto [result, entry] : llvm::zip_equal(results, order)) {
    result = std::get<Buffer *>(entry);
    result->offset = end;
    end = result->end();
  }
  return end;
}

/// Places those of `order` one after another, behind the results. What has a
/// place is kept in the order of memory: sorted for each buffer anew, it took
/// most of a long program's plan.
static MemorySize placeInOrder(ArrayRef<Buffer *> order,
                               SmallVector<Buffer *> placed,
                               int64_t resultBytes) {
  // Of no bytes and always there: nothing lies across it.
  Buffer border;
  border.offset = resultBytes;
  border.last = INT64_MAX;
  placed.push_back(&border);
  MemorySize size{resultBytes};
  for (Buffer *buffer : order) {
    buffer->offset = findOffset(*buffer, placed);
    size.arena = std::max(size.arena, buffer->end() - size.results);
    placed.insert(llvm::upper_bound(placed, buffer, liesBefore), buffer);
  }
  return size;
}

MemorySize shoal::placeBuffers(MutableArrayRef<Buffer> buffers) {
  SmallVector<Buffer *> results, order;
  for (Buffer &buffer : buffers)
    (buffer.isResult() ? results : order).push_back(&buffer);
  int64_t resultBytes = placeResults(results);
  // The largest first. Ties in program order, which is their order in memory.
  auto bySize = [](Buffer *a, Buffer *b) {
    return std::tuple(-a->bytes, a) < std::tuple(-b->bytes, b);
  };
  // Or what fills most of the plan: bytes times steps.
  auto byArea = [](Buffer *a, Buffer *b) {
    auto area = [](Buffer *buffer) {
      return static_cast<double>(buffer->bytes) *
             static_cast<double>(buffer->last - buffer->first + 1);
    };
    return std::tuple(-area(a), a) < std::tuple(-area(b), b);
  };
  llvm::sort(order, bySize);
  MemorySize size = placeInOrder(order, results, resultBytes);
  if (size.arena == 0 || size.total() == countLiveBytes(buffers))
    return size;
  llvm::sort(order, byArea);
  MemorySize other = placeInOrder(order, results, resultBytes);
  if (other.arena < size.arena)
    return other;
  llvm::sort(order, bySize);
  return placeInOrder(order, results, resultBytes);
}

int64_t shoal::countLiveBytes(ArrayRef<Buffer> buffers) {
  // What is added at a place, and taken away behind another.
  SmallVector<std::pair<int64_t, int64_t>> changes;
  for (const Buffer &buffer : buffers) {
    changes.push_back({buffer.first, buffer.bytes});
    changes.push_back({buffer.last + 1, -buffer.bytes});
  }
  // Of one place, what goes away goes first.
  llvm::sort(changes);
  int64_t live = 0, peak = 0;
  for (auto [place, bytes] : changes) {
    live += bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

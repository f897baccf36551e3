// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BufferLives.h"
#include "../Buffers/BufferAccess.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "shoal/Conversion/Buffers/Passes.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Support/Threshold.h"
#include "llvm/Support/MathExtras.h"
#include <map>

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

SmallVector<Buffer> shoal::listPieces(const Buffer &buffer) {
  if (buffer.pieces.empty())
    return {buffer};
  SmallVector<Buffer> pieces;
  for (const Buffer::Piece &piece : buffer.pieces)
    pieces.push_back({piece.memory,
                      piece.end - piece.begin,
                      piece.first,
                      buffer.last,
                      buffer.offset + piece.begin,
                      {}});
  return pieces;
}

/// The buffer is live from its first to its last use, of which one is at
/// `last`; where a use is in a loop that the buffer is not in, as long as the
/// loop runs. Nothing where it is used outside of the block that it is made in:
/// by the next trip, that is.
static std::optional<Buffer> measure(Value memory, int64_t last,
                                     const BufferViewFlowAnalysis &views,
                                     const Places &places) {
  Buffer buffer;
  buffer.memory = memory;
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

static const support::Threshold
    leastShared("bytes of a result in whose memory others lie before",
                kLeastSharedResult);

/// Whether the argument is a result in whose memory others may lie before.
static bool isShared(func::FuncOp func, BlockArgument argument) {
  auto type = dyn_cast<MemRefType>(argument.getType());
  return type && func.getArgAttr(argument.getArgNumber(), kResultAttr) &&
         type.hasStaticShape() && type.getLayout().isIdentity() &&
         leastShared.isReachedBy(sizeInBytes(type));
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

namespace {
/// What ops access, each looked at once: many collectives wait for one op.
class KnownAccesses {
public:
  const std::optional<SmallVector<BufferAccess>> &of(Operation *op) {
    auto [it, isNew] = known.try_emplace(op);
    if (isNew)
      it->second = accessesOf(op);
    return it->second;
  }

private:
  std::map<Operation *, std::optional<SmallVector<BufferAccess>>> known;
};
} // namespace

/// The first op behind the collective in its block that waits for it.
static Operation *findWait(Operation *collective, KnownAccesses &known) {
  const auto &own = known.of(collective);
  for (Operation *op = collective->getNextNode(); op; op = op->getNextNode()) {
    const auto &accesses = known.of(op);
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
  KnownAccesses accesses;
  func.walk([&](rt::RuntimeCallOpInterface call) {
    Operation *wait =
        call.getCollectiveNumber() ? findWait(call, accesses) : nullptr;
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

int64_t shoal::spareForBackground(func::FuncOp func, const MemorySize &size,
                                  double memory) {
  // Results are arguments, too.
  int64_t bytes = size.arena;
  for (Type type : func.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type);
        buffer && buffer.hasStaticShape())
      bytes += sizeInBytes(buffer);
  return int64_t(memory * double(bytes));
}

//===----------------------------------------------------------------------===//
// Places in memory
//===----------------------------------------------------------------------===//

namespace {

/// Memory that is taken from one place of the program to another.
struct Extent {
  int64_t begin, end;
  int64_t first, last;

  bool livesWith(int64_t otherFirst, int64_t otherLast) const {
    return first <= otherLast && otherFirst <= last;
  }
};

} // namespace

static bool liesBefore(const Extent &a, const Extent &b) {
  return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
}

/// Best fit: the smallest gap between what is taken, in the order of memory,
/// while the buffer is live, or else behind it all.
static int64_t findOffset(const Buffer &buffer, ArrayRef<Extent> taken) {
  int64_t best = -1, bestGap = INT64_MAX, top = 0;
  for (const Extent &rival : taken) {
    if (!rival.livesWith(buffer.first, buffer.last))
      continue;
    int64_t gap = rival.begin - top;
    if (gap >= buffer.bytes && gap < bestGap) {
      best = top;
      bestGap = gap;
    }
    top = std::max(top, rival.end);
  }
  return best >= 0 ? best : top;
}

/// The same for a buffer of pieces: each has to keep apart from what is taken
/// while that piece is live, and the buffer from the border between results and
/// arena.
static int64_t findOffsetOfPieces(const Buffer &buffer, ArrayRef<Extent> taken,
                                  int64_t border) {
  // Between the two, exclusively, it cannot begin.
  SmallVector<std::pair<int64_t, int64_t>> barred = {
      {border - buffer.bytes, border}};
  for (const Extent &rival : taken)
    for (const Buffer::Piece &piece : buffer.pieces)
      if (rival.livesWith(piece.first, buffer.last))
        barred.emplace_back(rival.begin - piece.end, rival.end - piece.begin);
  llvm::sort(barred);
  int64_t best = -1, bestGap = INT64_MAX, top = 0;
  for (auto [low, high] : barred) {
    int64_t gap = low - top;
    if (gap >= 0 && gap < bestGap) {
      best = top;
      bestGap = gap;
    }
    top = std::max(top, high);
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

/// In the order of memory: sorted for each buffer anew, it took most of a long
/// program's plan.
static void take(const Buffer &buffer, SmallVector<Extent> &taken) {
  for (const Buffer &piece : listPieces(buffer)) {
    Extent extent{piece.offset, piece.end(), piece.first, piece.last};
    taken.insert(llvm::upper_bound(taken, extent, liesBefore), extent);
  }
}

/// Places those of `order` one after another, behind the results.
static MemorySize placeInOrder(ArrayRef<Buffer *> order,
                               ArrayRef<Buffer *> results,
                               int64_t resultBytes) {
  // Of no bytes and always there: nothing lies across it.
  SmallVector<Extent> taken = {{resultBytes, resultBytes, 0, INT64_MAX}};
  for (Buffer *result : results)
    take(*result, taken);
  MemorySize size{resultBytes};
  for (Buffer *buffer : order) {
    buffer->offset = buffer->pieces.empty()
                         ? findOffset(*buffer, taken)
                         : findOffsetOfPieces(*buffer, taken, resultBytes);
    size.arena = std::max(size.arena, buffer->end() - size.results);
    take(*buffer, taken);
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
  // Or from the end of the program on: what begins late is not in the way of
  // what ends before it.
  auto byEnd = [](Buffer *a, Buffer *b) {
    return std::tuple(-a->last, -a->bytes, a) <
           std::tuple(-b->last, -b->bytes, b);
  };
  auto place = [&](auto isBefore) {
    llvm::sort(order, isBefore);
    return placeInOrder(order, results, resultBytes);
  };
  MemorySize size = place(bySize);
  int64_t live = countLiveBytes(buffers);
  auto isLeast = [&](const MemorySize &size) {
    return size.arena == 0 || size.total() == live;
  };
  if (isLeast(size))
    return size;
  MemorySize areas = place(byArea);
  if (areas.arena < size.arena && isLeast(areas))
    return areas;
  MemorySize ends = place(byEnd);
  if (ends.arena < std::min(size.arena, areas.arena))
    return ends;
  return areas.arena < size.arena ? place(byArea) : place(bySize);
}

int64_t shoal::countLiveBytes(ArrayRef<Buffer> buffers) {
  // What is added at a place, and taken away behind another.
  SmallVector<std::pair<int64_t, int64_t>> changes;
  for (const Buffer &buffer : buffers)
    for (const Buffer &piece : listPieces(buffer)) {
      changes.push_back({piece.first, piece.bytes});
      changes.push_back({piece.last + 1, -piece.bytes});
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

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "JoinedBuffers.h"
#include "../Buffers/BufferAccess.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

namespace {

/// What may lie where it is copied to, by the buffers copied to.
class PartFinder {
public:
  PartFinder(ArrayRef<Buffer> buffers, func::FuncOp func, const Places &places)
      : block(func.front()), places(places), views(func) {
    for (const Buffer &buffer : buffers)
      byMemory[buffer.memory] = &buffer;
  }

  llvm::MapVector<Value, SmallVector<BufferPart>> run();

private:
  std::optional<BufferPart> partOf(memref::CopyOp copy) const;
  SmallVector<std::pair<int64_t, int64_t>>
  findTouches(Value whole, const BufferRange &slot) const;

  Block &block;
  const Places &places;
  BufferViewFlowAnalysis views;
  llvm::DenseMap<Value, const Buffer *> byMemory;
};

} // namespace

/// The places of all ops that may touch the slot as a part of `whole`.
SmallVector<std::pair<int64_t, int64_t>>
PartFinder::findTouches(Value whole, const BufferRange &slot) const {
  llvm::SetVector<Operation *> users;
  for (Value view : views.resolve(whole))
    for (Operation *user : view.getUsers())
      users.insert(block.findAncestorOpInBlock(*user));
  SmallVector<std::pair<int64_t, int64_t>> touches;
  for (Operation *user : users) {
    std::optional<SmallVector<BufferAccess>> accesses = accessesOf(user);
    if (!accesses || llvm::any_of(*accesses, [&](const BufferAccess &access) {
          return access.range.overlaps(slot);
        }))
      touches.push_back(places[user]);
  }
  return touches;
}

/// Nothing if what is copied is not all of a buffer that ends there, or if that
/// could not lie at its place: parts that rows of others lie between, or that
/// begin where no buffer may.
std::optional<BufferPart> PartFinder::partOf(memref::CopyOp copy) const {
  Value memory = findBuffer(copy.getSource());
  const Buffer *buffer = byMemory.lookup(memory);
  BufferRange slot = BufferRange::of(copy.getTarget());
  if (!buffer || buffer->isResult() || !byMemory.contains(slot.root) ||
      slot.root == memory || memory.getParentBlock() != &block ||
      buffer->last != places[copy].second)
    return std::nullopt;
  int64_t bytes = sizeInBytes(buffer->getType());
  BufferRange source = BufferRange::of(copy.getSource());
  auto isAll = [&](const BufferRange &range) {
    return range.end - range.begin == bytes;
  };
  bool isProper = bytes > 0 && slot.begin % kArenaAlignment == 0 &&
                  bytes < sizeInBytes(cast<MemRefType>(slot.root.getType()));
  if (!isProper || source.begin != 0 || !isAll(source) || !isAll(slot))
    return std::nullopt;
  BufferPart part{*buffer, copy, slot.root, slot.begin, buffer->first};
  for (auto [first, last] : findTouches(slot.root, slot)) {
    // Nothing else between where the part begins and the copy.
    if (last >= buffer->first && first < places[copy].first)
      return std::nullopt;
    part.first = std::min(part.first, first);
  }
  return part;
}

llvm::MapVector<Value, SmallVector<BufferPart>> PartFinder::run() {
  llvm::MapVector<Value, SmallVector<BufferPart>> parts;
  for (auto copy : block.getOps<memref::CopyOp>())
    if (std::optional<BufferPart> part = partOf(copy))
      parts[part->whole].push_back(*part);
  // What has parts is none.
  for (auto &[whole, own] : parts)
    llvm::erase_if(own, [&](const BufferPart &part) {
      return parts.contains(part.buffer.memory);
    });
  return parts;
}

/// The pieces of a buffer with `parts` in it; what lies between these is live
/// as long as the buffer was.
static SmallVector<Buffer::Piece, 0> cutAtParts(const Buffer &whole,
                                                SmallVector<BufferPart> parts) {
  llvm::sort(parts, [](const BufferPart &a, const BufferPart &b) {
    return a.offset < b.offset;
  });
  SmallVector<Buffer::Piece, 0> pieces;
  int64_t end = 0;
  auto fillUpTo = [&](int64_t begin) {
    if (end < begin)
      pieces.push_back({end, begin, whole.first, Value()});
  };
  for (const BufferPart &part : parts) {
    fillUpTo(part.offset);
    Buffer::Piece piece{part.offset, part.offset + part.buffer.bytes,
                        part.first, part.buffer.memory};
    // The rest of its last line is the buffer's.
    if (sizeInBytes(part.buffer.getType()) % kArenaAlignment != 0)
      piece.first = std::min(piece.first, whole.first);
    if (part.offset < end) { // another part lay there before
      pieces.back().first = std::min(pieces.back().first, piece.first);
      pieces.back().end = std::max(pieces.back().end, piece.end);
    } else {
      pieces.push_back(piece);
    }
    end = pieces.back().end;
  }
  fillUpTo(whole.bytes);
  return pieces;
}

SmallVector<BufferPart> shoal::joinBuffers(SmallVector<Buffer> &buffers,
                                           func::FuncOp func,
                                           const Places &places) {
  auto found = PartFinder(buffers, func, places).run();
  SmallVector<BufferPart> parts;
  llvm::DenseSet<Value> inPlace;
  for (Buffer &buffer : buffers) {
    auto own = found.find(buffer.memory);
    if (own == found.end() || own->second.empty())
      continue;
    buffer.pieces = cutAtParts(buffer, own->second);
    for (const Buffer::Piece &piece : buffer.pieces)
      buffer.first = std::min(buffer.first, piece.first);
    for (const BufferPart &part : own->second)
      inPlace.insert(part.buffer.memory);
    parts.append(own->second);
  }
  llvm::erase_if(buffers, [&](const Buffer &buffer) {
    return inPlace.contains(buffer.memory);
  });
  return parts;
}

FailureOr<BufferPlan>
shoal::planBuffers(func::FuncOp func, const Places &places,
                   llvm::function_ref<void(memref::AllocOp)> report) {
  FailureOr<SmallVector<Buffer>> buffers = findBuffers(func, places, report);
  if (failed(buffers))
    return failure();
  BufferPlan apart{*buffers, {}, {}};
  apart.size = placeBuffers(apart.buffers);
  BufferPlan joined{*buffers, {}, {}};
  joined.parts = joinBuffers(joined.buffers, func, places);
  if (joined.parts.empty())
    return apart;
  joined.size = placeBuffers(joined.buffers);
  return joined.size.total() <= apart.size.total() ? joined : apart;
}

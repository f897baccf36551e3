// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "JoinedBuffers.h"
#include "../Buffers/BufferAccess.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/JoinedLives.h"
#include "shoal/CostModel/ProgramCost.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

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
  bool isOwnUntil(BufferPart part, const BufferRange &slot) const;

  Block &block;
  const Places &places;
  BufferViewFlowAnalysis views;
  llvm::DenseMap<Value, const Buffer *> byMemory;
};

} // namespace

/// Whether nothing else touches the slot from where the part begins to the copy
/// into it.
bool PartFinder::isOwnUntil(BufferPart part, const BufferRange &slot) const {
  llvm::SetVector<Operation *> users;
  for (Value view : views.resolve(part.whole))
    for (Operation *user : view.getUsers())
      users.insert(block.findAncestorOpInBlock(*user));
  return llvm::none_of(users, [&](Operation *user) {
    if (places[user].second < part.buffer.first ||
        places[user].first >= places[part.copy].first)
      return false;
    std::optional<SmallVector<BufferAccess>> accesses = accessesOf(user);
    return !accesses ||
           llvm::any_of(*accesses, [&](const BufferAccess &access) {
             return access.range.overlaps(slot);
           });
  });
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
  BufferPart part{*buffer, copy, slot.root, slot.begin};
  return isOwnUntil(part, slot) ? std::optional(part) : std::nullopt;
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

static Life lifeOf(const Buffer &buffer) {
  return {buffer.first, buffer.last, buffer.bytes};
}

SmallVector<BufferPart> shoal::joinBuffers(SmallVector<Buffer> &buffers,
                                           func::FuncOp func,
                                           const Places &places) {
  auto found = PartFinder(buffers, func, places).run();
  llvm::DenseMap<Value, Buffer *> byMemory;
  int64_t end = 0;
  for (Buffer &buffer : buffers) {
    byMemory[buffer.memory] = &buffer;
    end = std::max(end, buffer.last + 1);
  }
  HeldProfile held(end);
  for (const Buffer &buffer : buffers)
    held.add(lifeOf(buffer));
  SmallVector<JoinedLives> joins;
  for (auto &[whole, parts] : found) {
    joins.push_back({lifeOf(*byMemory[whole]), {}});
    for (const BufferPart &part : parts)
      joins.back().parts.push_back(lifeOf(part.buffer));
  }
  SmallVector<BufferPart> chosen;
  llvm::DenseSet<Value> inPlace;
  for (auto [join, entry, isChosen] :
       llvm::zip_equal(joins, found, chooseInPlace(held, joins))) {
    if (!isChosen)
      continue;
    byMemory[entry.first]->first = join.inPlace().first;
    for (const BufferPart &part : entry.second)
      inPlace.insert(part.buffer.memory);
    chosen.append(entry.second);
  }
  llvm::erase_if(buffers, [&](const Buffer &buffer) {
    return inPlace.contains(buffer.memory);
  });
  return chosen;
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

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockSchedule.h"
#include "../Buffers/BufferAccess.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include <numeric>

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// The ops and their order
//===----------------------------------------------------------------------===//

/// What has no place of its own in time.
static bool isHelper(Operation *op) {
  return op->getNumRegions() == 0 &&
         (isMemoryEffectFree(op) || isa<memref::AllocOp>(op));
}

static std::optional<int64_t> numberOf(Operation *op) {
  auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
  return call ? call.getCollectiveNumber() : std::nullopt;
}

bool BlockSchedule::isFence(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() ||
         (!isHelper(op) && !accessesOf(op));
}

/// What the op uses, itself or in its regions.
static llvm::SetVector<Value> usedValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

BlockSchedule::BlockSchedule(Operation *first, DurationOf durationOf,
                             const rt::CollectiveStreams &streams) {
  for (fence = first; !isFence(fence); fence = fence->getNextNode()) {
    if (isHelper(fence))
      continue;
    Node &node = nodes.emplace_back();
    node.op = fence;
    node.duration = durationOf(fence);
    std::optional<int64_t> number = numberOf(fence);
    node.isCollective = number.has_value();
    node.stream = number ? streams.of(*number) : 0;
    communicates |= node.isCollective;
  }
  if (!hasCollectives())
    return;
  addUseEdges();
  addMemoryEdges();
  findNeeded();
  findLevels();
  findBuffers();
}

void BlockSchedule::addEdge(unsigned from, unsigned to) {
  nodes[from].behind.push_back(to);
  nodes[to].before.push_back(from);
}

/// By results, also through ops that are not among the nodes.
void BlockSchedule::addUseEdges() {
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (auto [number, node] : llvm::enumerate(nodes))
    numbers[node.op] = number;
  for (unsigned to = 0; to < nodes.size(); ++to) {
    llvm::SetVector<Value> values = usedValues(nodes[to].op);
    for (size_t i = 0; i < values.size(); ++i) {
      Operation *op = values[i].getDefiningOp();
      if (!op || op->getBlock() != nodes[to].op->getBlock())
        continue;
      if (auto from = numbers.find(op); from != numbers.end())
        addEdge(from->second, to);
      else if (isHelper(op))
        values.insert(op->operand_begin(), op->operand_end());
    }
  }
}

void BlockSchedule::addMemoryEdges() {
  SmallVector<SmallVector<BufferAccess>> accesses;
  for (const Node &node : nodes)
    accesses.push_back(*accessesOf(node.op));
  for (unsigned to = 0; to < nodes.size(); ++to)
    for (unsigned from = 0; from < to; ++from)
      if (conflict(accesses[from], accesses[to]))
        addEdge(from, to);
}

void BlockSchedule::findNeeded() {
  for (unsigned i = nodes.size(); i-- > 0;)
    for (unsigned next : nodes[i].behind)
      nodes[i].isNeeded |= nodes[next].isCollective || nodes[next].isNeeded;
}

/// What takes less than such a part of the longest collective is short: chains
/// that went on in turns at each of these would come to their long ones
/// together, and have nothing to do beside them.
static constexpr double kShortest = 0.25;

void BlockSchedule::findLevels() {
  double longest = 0;
  for (const Node &node : nodes)
    if (node.isCollective)
      longest = std::max(longest, node.duration.seconds);
  for (Node &node : nodes)
    for (unsigned before : node.before) {
      const Node &other = nodes[before];
      bool isLong =
          other.isCollective && other.duration.seconds >= kShortest * longest;
      node.level = std::max(node.level, other.level + isLong);
    }
  for (Node &node : nodes) {
    auto levelOf = [&](unsigned behind) { return nodes[behind].level; };
    auto levels = llvm::map_range(node.behind, levelOf);
    node.due = levels.empty() ? node.level : *llvm::min_element(levels);
  }
}

void BlockSchedule::findBuffers() {
  llvm::DenseMap<Value, unsigned> numbers;
  for (auto [number, node] : llvm::enumerate(nodes)) {
    llvm::SmallSetVector<unsigned, 4> touched;
    SmallVector<BufferAccess> accesses = *accessesOf(node.op);
    for (const BufferAccess &access : accesses) {
      auto alloc = access.range.root
                       ? access.range.root.getDefiningOp<memref::AllocOp>()
                       : nullptr;
      if (!alloc || alloc->getBlock() != node.op->getBlock() ||
          !alloc.getType().hasStaticShape())
        continue;
      auto [found, isNew] = numbers.try_emplace(alloc, buffers.size());
      if (isNew)
        buffers.push_back({sizeInBytes(alloc.getType()), int64_t(number), 0});
      buffers[found->second].last = number;
      touched.insert(found->second);
    }
    node.buffers.assign(touched.begin(), touched.end());
    for (unsigned buffer : touched)
      ++buffers[buffer].users;
  }
  findOuterUses(numbers);
}

void BlockSchedule::findOuterUses(
    const llvm::DenseMap<Value, unsigned> &numbers) {
  llvm::DenseSet<Operation *> own;
  for (const Node &node : nodes)
    own.insert(node.op);
  Block *block = fence->getBlock();
  for (Operation &op : *block) {
    if (own.contains(&op) || isHelper(&op))
      continue;
    for (Value value : usedValues(&op)) {
      auto found = isa<BaseMemRefType>(value.getType())
                       ? numbers.find(findBuffer(value))
                       : numbers.end();
      if (found == numbers.end())
        continue;
      OwnBuffer &buffer = buffers[found->second];
      if (op.isBeforeInBlock(nodes.front().op)) {
        buffer.first = -1;
      } else if (buffer.last < int64_t(nodes.size())) {
        buffer.last = nodes.size();
        ++buffer.users;
      }
    }
  }
}

std::vector<int64_t> BlockSchedule::listLiveBytes() const {
  std::vector<int64_t> changes(nodes.size() + 1, 0);
  for (const OwnBuffer &buffer : buffers) {
    changes[std::max<int64_t>(buffer.first, 0)] += buffer.bytes;
    if (buffer.last < int64_t(nodes.size()))
      changes[buffer.last + 1] -= buffer.bytes;
  }
  changes.pop_back();
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  return changes;
}

//===----------------------------------------------------------------------===//
// Another order
//===----------------------------------------------------------------------===//

void BlockSchedule::apply(ArrayRef<unsigned> order) {
  assert(order.size() == nodes.size() && "every op has a place");
  Block *block = fence->getBlock();
  llvm::SmallPtrSet<Operation *, 32> placed;
  // Helpers that stand behind an earlier fence; those before it stay there.
  llvm::SmallPtrSet<Operation *, 32> movable;
  for (Operation *op = fence->getPrevNode(); op && !isFence(op);
       op = op->getPrevNode())
    movable.insert(op);
  auto place = [&](auto &&self, Operation *op) -> void {
    if (!movable.contains(op) || !placed.insert(op).second)
      return;
    for (Value value : usedValues(op))
      if (Operation *used = value.getDefiningOp())
        self(self, used);
    op->moveBefore(fence);
  };
  SmallVector<Operation *> rest;
  for (Operation &op : *block)
    if (movable.contains(&op))
      rest.push_back(&op);
  for (unsigned number : order)
    place(place, nodes[number].op);
  for (Operation *op : rest)
    place(place, op);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockSchedule.h"
#include "../Buffers/BufferAccess.h"
#include "OpSeconds.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

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

static bool isCollective(Operation *op) {
  auto call = dyn_cast<rt::RuntimeCallOpInterface>(op);
  return call && call.getCollectiveNumber();
}

bool BlockSchedule::isFence(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() || isa<rt::CustomCallOp>(op) ||
         (!isHelper(op) && !accessesOf(op));
}

/// What the op uses, itself or in its regions.
static llvm::SetVector<Value> usedValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

BlockSchedule::BlockSchedule(Operation *first, const Machine &machine) {
  for (fence = first; !isFence(fence); fence = fence->getNextNode()) {
    if (isHelper(fence))
      continue;
    if (isCollective(fence))
      collectives.push_back(nodes.size());
    nodes.push_back({fence,
                     estimateSeconds(fence, machine),
                     isCollective(fence),
                     /*isNeeded=*/false,
                     {},
                     {}});
  }
  if (!hasCollectives())
    return;
  addUseEdges();
  addMemoryEdges();
  findNeeded();
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

//===----------------------------------------------------------------------===//
// List scheduling
//===----------------------------------------------------------------------===//

SmallVector<unsigned> BlockSchedule::order(int64_t window) const {
  SmallVector<unsigned> order;
  SmallVector<unsigned> missing;
  // When collectives end; of other ops nobody asks.
  SmallVector<double> ends(nodes.size(), 0);
  SmallVector<bool> isDone(nodes.size(), false);
  for (const Node &node : nodes)
    missing.push_back(node.before.size());
  double workClock = 0, collectiveClock = 0;
  size_t nextCollective = 0;
  unsigned lowest = 0;

  auto isReady = [&](unsigned number) {
    return missing[number] == 0 && number - lowest <= window;
  };
  auto take = [&](unsigned number) {
    order.push_back(number);
    isDone[number] = true;
    for (unsigned next : nodes[number].behind)
      --missing[next];
    while (lowest < nodes.size() && isDone[lowest])
      ++lowest;
  };
  auto waitOf = [&](unsigned number) {
    double wait = 0;
    for (unsigned before : nodes[number].before)
      wait = std::max(wait, ends[before] - workClock);
    return wait;
  };

  while (order.size() < nodes.size()) {
    if (nextCollective < collectives.size() &&
        isReady(collectives[nextCollective])) {
      unsigned number = collectives[nextCollective++];
      collectiveClock =
          std::max(collectiveClock, workClock) + nodes[number].seconds;
      ends[number] = collectiveClock;
      take(number);
      continue;
    }
    // The one that stands first of all is ready: what it needs stood before.
    std::optional<std::tuple<double, bool, unsigned>> best;
    for (unsigned number = lowest;
         number < nodes.size() && number - lowest <= window; ++number)
      if (!isDone[number] && !nodes[number].isCollective && isReady(number)) {
        std::tuple key(waitOf(number), !nodes[number].isNeeded, number);
        if (!best || key < *best)
          best = key;
      }
    auto [wait, isLate, number] = *best;
    workClock += wait + nodes[number].seconds;
    take(number);
  }
  return order;
}

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

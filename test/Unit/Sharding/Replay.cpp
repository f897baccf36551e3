// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Replay.h"
#include <numeric>
#include <set>

using namespace shoal;
using namespace shoal::testing;

bool Replay::holds(const Sharding &sharding) const {
  for (int64_t p = 0; p < mesh.numDevices(); ++p) {
    Block wanted = blockOf(sharding, p, addendsOf(sharding, p));
    if (blocks[p].shape != wanted.shape)
      return false;
    for (auto [a, b] : llvm::zip_equal(blocks[p].labels, wanted.labels))
      if (b.element >= 0 && a != b)
        return false;
  }
  return true;
}

uint64_t Replay::addendsOf(const Sharding &sharding, int64_t position) const {
  uint64_t bits = 0;
  std::vector<int64_t> own = mesh.coordinates(position);
  for (AxisId axis : sharding.partial)
    if (!llvm::is_contained(initial, axis) && own[axis] != 0)
      return 0;
  for (int64_t p = 0; p < mesh.numDevices(); ++p) {
    std::vector<int64_t> at = mesh.coordinates(p);
    if (llvm::all_of(sharding.partial, [&](AxisId axis) {
          return !llvm::is_contained(initial, axis) || at[axis] == own[axis];
        }))
      bits |= bitOf(p);
  }
  return bits;
}

Block Replay::blockOf(const Sharding &sharding, int64_t position,
                      uint64_t addends) const {
  Block block;
  std::vector<int64_t> at = mesh.coordinates(position);
  llvm::SmallVector<int64_t, 4> begin;
  for (auto [n, axes] : llvm::zip_equal(shape, sharding.dims)) {
    block.shape.push_back(shardSize(n, mesh.sizeOf(axes)));
    begin.push_back(mesh.indexOver(axes, at) * block.shape.back());
  }
  forEachIndex(block.shape, [&](llvm::ArrayRef<int64_t> index) {
    llvm::SmallVector<int64_t, 4> global;
    bool exists = true;
    for (auto [i, b, n] : llvm::zip_equal(index, begin, shape)) {
      global.push_back(i + b);
      exists &= i + b < n;
    }
    block.labels.push_back(exists ? Label{offsetOf(global, shape), addends}
                                  : Label{});
  });
  return block;
}

std::vector<int64_t> Replay::groupOf(int64_t position,
                                     llvm::ArrayRef<AxisId> axes) const {
  std::vector<int64_t> group(mesh.sizeOf(axes));
  std::vector<int64_t> own = mesh.coordinates(position);
  for (int64_t p = 0; p < mesh.numDevices(); ++p) {
    std::vector<int64_t> at = mesh.coordinates(p);
    bool isMember = true;
    for (AxisId axis = 0; axis < mesh.axes.size(); ++axis)
      isMember &= llvm::is_contained(axes, axis) || at[axis] == own[axis];
    if (isMember)
      group[mesh.indexOver(axes, at)] = p;
  }
  return group;
}

std::vector<Block> Replay::slice(const ShardingDelta &delta) const {
  std::vector<Block> next;
  for (int64_t p = 0; p < mesh.numDevices(); ++p) {
    llvm::SmallVector<int64_t, 4> index, counts;
    for (const AxisList &axes : delta.added) {
      index.push_back(mesh.indexOver(axes, mesh.coordinates(p)));
      counts.push_back(mesh.sizeOf(axes));
    }
    next.push_back(cutPiece(blocks[p], index, counts));
  }
  return next;
}

/// Blocks of the shape that `after` says, all past the end.
static std::vector<Block> emptyBlocks(llvm::ArrayRef<int64_t> shape,
                                      const Sharding &after, const Mesh &mesh) {
  Block block;
  int64_t size = 1;
  for (auto [n, axes] : llvm::zip_equal(shape, after.dims)) {
    block.shape.push_back(shardSize(n, mesh.sizeOf(axes)));
    size *= block.shape.back();
  }
  block.labels.resize(size);
  return std::vector<Block>(mesh.numDevices(), block);
}

std::vector<Block> Replay::gather(const ShardingDelta &delta,
                                  const Sharding &after) const {
  std::vector<Block> next = emptyBlocks(shape, after, mesh);
  AxisList all;
  for (const AxisList &axes : delta.removed)
    all.append(axes.begin(), axes.end());
  for (int64_t p = 0; p < mesh.numDevices(); ++p)
    for (int64_t member : groupOf(p, all)) {
      llvm::SmallVector<int64_t, 4> index;
      for (const AxisList &axes : delta.removed)
        index.push_back(mesh.indexOver(axes, mesh.coordinates(member)));
      putPiece(blocks[member], index, next[p]);
    }
  return next;
}

std::vector<Block> Replay::allToAll(const ShardingDelta &delta,
                                    const Sharding &after) const {
  std::vector<Block> next = emptyBlocks(shape, after, mesh);
  size_t rank = shape.size();
  llvm::SmallVector<AxisList, 4> leaving(rank), coming(rank);
  AxisList all;
  for (const AxisMove &move : delta.moves) {
    leaving[move.sourceDim].append(move.axes.begin(), move.axes.end());
    coming[move.targetDim].append(move.axes.begin(), move.axes.end());
    all.append(move.axes.begin(), move.axes.end());
  }
  auto indexOver = [&](llvm::ArrayRef<AxisList> lists, int64_t position) {
    llvm::SmallVector<int64_t, 4> index;
    for (const AxisList &axes : lists)
      index.push_back(mesh.indexOver(axes, mesh.coordinates(position)));
    return index;
  };
  llvm::SmallVector<int64_t, 4> counts;
  for (const AxisList &axes : coming)
    counts.push_back(mesh.sizeOf(axes));
  for (int64_t p = 0; p < mesh.numDevices(); ++p)
    for (int64_t member : groupOf(p, all))
      putPiece(cutPiece(blocks[member], indexOver(coming, p), counts),
               indexOver(leaving, member), next[p]);
  return next;
}

std::vector<Block> Replay::permute(const Sharding &after) const {
  AxisPermutation lists = describePermute(state, after, mesh);
  std::vector<Block> next(blocks.size());
  for (int64_t p = 0; p < mesh.numDevices(); ++p)
    next[groupOf(
        p, lists.target)[mesh.indexOver(lists.source, mesh.coordinates(p))]] =
        blocks[p];
  return next;
}

std::optional<std::vector<Block>> Replay::reduce(const ShardingDelta &delta) {
  std::vector<Block> next = blocks;
  for (int64_t p = 0; p < mesh.numDevices(); ++p)
    for (int64_t member : groupOf(p, delta.partialRemoved)) {
      if (member == p)
        continue;
      for (auto [own, other] :
           llvm::zip_equal(next[p].labels, blocks[member].labels)) {
        if (own.element != other.element || (own.addends & other.addends)) {
          error = "addends of different elements, or one twice";
          return std::nullopt;
        }
        own.addends |= other.addends;
      }
    }
  return next;
}

std::vector<Block> Replay::toPartial(const ShardingDelta &delta) const {
  std::vector<Block> next = blocks;
  for (int64_t p = 0; p < mesh.numDevices(); ++p)
    if (mesh.indexOver(delta.partialAdded, mesh.coordinates(p)) != 0)
      for (Label &label : next[p].labels)
        label.addends = 0;
  return next;
}

/// What a device wants comes from a device with the same coordinates on the
/// axes that neither end uses.
std::optional<std::vector<Block>> Replay::exchange(const Sharding &after) {
  AxisList used;
  for (const Sharding *end :
       std::initializer_list<const Sharding *>{&state, &after})
    for (const AxisList &axes : end->dims)
      for (AxisId axis : axes)
        if (!llvm::is_contained(used, axis))
          used.push_back(axis);
  std::vector<Block> next;
  for (int64_t p = 0; p < mesh.numDevices(); ++p) {
    std::vector<Label> held(std::accumulate(
        shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>()));
    for (int64_t member : groupOf(p, used))
      for (const Label &label : blocks[member].labels)
        if (label.element >= 0)
          held[label.element] = label;
    Block block = blockOf(after, p, 0);
    for (Label &label : block.labels) {
      if (label.element < 0)
        continue;
      if (held[label.element].element < 0) {
        error = "no device of the group has an element";
        return std::nullopt;
      }
      label = held[label.element];
    }
    next.push_back(std::move(block));
  }
  return next;
}

/// Elements keep their order, in the whole and on every device.
std::vector<Block> Replay::reshape(const PlannedStep &step) {
  shape.assign(step.shapeOr(whole).begin(), step.shapeOr(whole).end());
  std::vector<Block> next = blocks;
  for (Block &block : next)
    block.shape.assign(localShape(shape, step.result, mesh));
  return next;
}

int64_t Replay::mostReceived(const std::vector<Block> &next) const {
  int64_t most = 0;
  for (auto [before, after] : llvm::zip_equal(blocks, next)) {
    std::set<int64_t> own;
    for (const Label &label : before.labels)
      own.insert(label.element);
    most = std::max<int64_t>(
        most, llvm::count_if(after.labels, [&](const Label &label) {
          return label.element >= 0 && !own.contains(label.element);
        }));
  }
  return most;
}

std::optional<int64_t> Replay::run(const PlannedStep &step) {
  ShardingDelta delta;
  if (step.step != StepKind::CollectivePermute &&
      step.step != StepKind::Exchange && step.step != StepKind::Reshape)
    delta = describeStep(state, step.result);
  std::optional<std::vector<Block>> next;
  switch (step.step) {
  case StepKind::Slice:
    next = slice(delta);
    break;
  case StepKind::ToPartial:
    next = toPartial(delta);
    break;
  case StepKind::ReduceScatter:
    next = reduce(delta);
    if (!next)
      return std::nullopt;
    std::swap(blocks, *next);
    next = slice(delta);
    break;
  case StepKind::AllToAll:
    next = allToAll(delta, step.result);
    break;
  case StepKind::CollectivePermute:
    next = permute(step.result);
    break;
  case StepKind::AllReduce:
    next = reduce(delta);
    break;
  case StepKind::AllGather:
    next = gather(delta, step.result);
    break;
  case StepKind::Exchange:
    next = exchange(step.result);
    break;
  case StepKind::Reshape:
    next = reshape(step);
    break;
  case StepKind::Relabel:
    error = "the devices have one order";
    break;
  }
  if (!next)
    return std::nullopt;
  int64_t received = mostReceived(*next);
  blocks = std::move(*next);
  state = step.result;
  if (holds(state))
    return received;
  error = "a device has not what the step's sharding says";
  return std::nullopt;
}

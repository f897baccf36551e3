// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardCost.h"
#include "BlockAddends.h"
#include "StepCost.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace shoal;

namespace {

/// The two ends of a reshard by dimension, and what follows from them. A plan
/// slices, reduce-scatters what is partial, exchanges, gathers; no step needs
/// more than the number of shards of each dimension before and after it.
class Reshard {
public:
  Reshard(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
          const Sharding &source, const Sharding &target, const Mesh &mesh,
          bool otherDeviceOrder);
  double bytes() const;

private:
  using Counts = llvm::SmallVector<int64_t, 4>;

  double bytesOfBlock(const Counts &shards) const;
  double bytesWithoutSums() const;
  double bytesWithSums(bool useIdleAxes) const;
  double haloBytes() const;
  /// What remains to be received once the blocks overlap in a block of
  /// `overlap` shards: all of the target where some device has none of it.
  double lacking(const Counts &overlap) const;

  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes;
  /// Shards of each dimension.
  Counts source, target;
  /// Source shards, after the axes that only the target has were sliced.
  Counts sliced;
  /// Members of the groups of those axes.
  int64_t added = 1;
  /// Some device holds nothing of its target block.
  bool conflict = false;
  /// Members of the groups to reduce over: axes that then split the target,
  /// and others; axes that neither end uses.
  int64_t scattered = 1, reduced = 1, idle = 1;
};

AxisList withoutTrivial(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  AxisList list;
  llvm::copy_if(axes, std::back_inserter(list),
                [&](AxisId axis) { return mesh.axes[axis].size > 1; });
  return list;
}

/// Whether both lists give every device the same rows as far as they go.
bool agree(llvm::ArrayRef<AxisId> a, llvm::ArrayRef<AxisId> b) {
  size_t common = std::min(a.size(), b.size());
  return a.take_front(common) == b.take_front(common);
}

} // namespace

Reshard::Reshard(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                 const Sharding &from, const Sharding &to, const Mesh &mesh,
                 bool otherDeviceOrder)
    : shape(shape), elementBytes(elementBytes) {
  auto isSplit = [](const Sharding &sharding, AxisId axis) {
    return llvm::any_of(sharding.dims, [&](const AxisList &dim) {
      return llvm::is_contained(dim, axis);
    });
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    AxisList before = withoutTrivial(from.dims[d], mesh);
    AxisList after = withoutTrivial(to.dims[d], mesh);
    conflict |= !agree(before, after);
    source.push_back(mesh.sizeOf(before));
    target.push_back(mesh.sizeOf(after));
    sliced.push_back(source.back());
    for (AxisId axis : after)
      if (!from.uses(axis)) {
        sliced.back() *= mesh.axes[axis].size;
        added *= mesh.axes[axis].size;
      }
  }
  for (AxisId axis = 0; axis < mesh.axes.size(); ++axis) {
    int64_t size = mesh.axes[axis].size;
    bool staysPartial = llvm::is_contained(to.partial, axis);
    if (llvm::is_contained(from.partial, axis) && !staysPartial)
      (isSplit(to, axis) ? scattered : reduced) *= size;
    else if (!from.uses(axis) && !to.uses(axis))
      idle *= size;
  }
  // Under another device order blocks overlap only where one end is whole.
  bool isWhole = llvm::all_of(source, [](int64_t n) { return n == 1; }) ||
                 llvm::all_of(target, [](int64_t n) { return n == 1; });
  conflict |= otherDeviceOrder && !isWhole;
}

double Reshard::bytesOfBlock(const Counts &shards) const {
  double bytes = elementBytes;
  for (auto [size, count] : llvm::zip_equal(shape, shards))
    bytes *= shardSize(size, count);
  return bytes;
}

double Reshard::lacking(const Counts &overlap) const {
  return bytesOfBlock(target) - (conflict ? 0 : bytesOfBlock(overlap));
}

/// Spreads `count` shards over dimensions that divide evenly; multiplies them
/// into `shards`, returns how many found a place.
static int64_t placeShards(llvm::ArrayRef<int64_t> shape, int64_t count,
                           llvm::MutableArrayRef<int64_t> shards) {
  int64_t placed = 1;
  for (auto [size, own] : llvm::zip_equal(shape, shards)) {
    if (size % own != 0)
      continue;
    int64_t part = std::gcd(size / own, count / placed);
    own *= part;
    placed *= part;
  }
  return placed;
}

/// Rows that a device fetches from its neighbours because n / p rounds up
/// differently before and after.
double Reshard::haloBytes() const {
  double bytes = 0;
  for (auto [size, before, after] : llvm::zip_equal(shape, source, target)) {
    if (before == 1 || after == 1)
      continue;
    int64_t shift = std::abs(before * shardSize(size, before) -
                             after * shardSize(size, after));
    int64_t fewer = std::min(before, after);
    double rows = std::min<double>(
        shardSize(size, after), std::ceil(double(shift) * (fewer - 1) / fewer));
    if (rows > 0)
      bytes += rows * bytesOfBlock(target) / shardSize(size, after);
  }
  return std::min(bytes, bytesOfBlock(target));
}

double Reshard::bytesWithoutSums() const {
  Counts both;
  for (auto [before, after] : llvm::zip_equal(source, target))
    both.push_back(std::max(before, after));
  double bytes = lacking(both);
  return conflict ? bytes : bytes + haloBytes();
}

double Reshard::bytesWithSums(bool useIdleAxes) const {
  // Without a conflict axes of the target go to their own place, others behind
  // those of both ends. With one, all go wherever the source leaves room.
  Counts both = source, block = conflict ? source : sliced;
  if (!conflict)
    for (auto [own, after] : llvm::zip_equal(both, target))
      own = std::max(own, after);
  auto place = [&](int64_t count) {
    Counts before = both;
    int64_t placed = placeShards(shape, count, both);
    for (auto [own, was, now] : llvm::zip_equal(block, before, both))
      own *= now / was;
    return placed;
  };
  if (conflict)
    place(added);
  if (useIdleAxes)
    place(idle);
  double size = bytesOfBlock(block);
  int64_t group =
      conflict ? place(scattered * reduced) : scattered * place(reduced);
  int64_t rest = scattered * reduced / group;
  double bytes = size * (group - 1) / group;
  // What finds no room to scatter into is reduced in place.
  bytes += size / group * 2 * (rest - 1) / rest;
  bytes += lacking(both);
  return conflict ? bytes : bytes + haloBytes();
}

double Reshard::bytes() const {
  if (llvm::is_contained(shape, 0))
    return 0;
  if (scattered * reduced == 1)
    return bytesWithoutSums();
  return std::min(bytesWithSums(/*useIdleAxes=*/false),
                  bytesWithSums(/*useIdleAxes=*/true));
}

double shoal::reshardBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                           const Sharding &source, const Sharding &target,
                           const Mesh &mesh, bool otherDeviceOrder) {
  if (auto blocks = blocksBeforeAddends(shape, source, target, mesh))
    return reshardBytes(shape, elementBytes, source, *blocks, mesh,
                        otherDeviceOrder);
  return Reshard(shape, elementBytes, source, target, mesh, otherDeviceOrder)
      .bytes();
}

//===----------------------------------------------------------------------===//
// Bytes of a plan
//===----------------------------------------------------------------------===//

double shoal::plannedElements(llvm::ArrayRef<int64_t> shape,
                              const Sharding &source, const Sharding &target,
                              const Mesh &mesh, const Mesh *targetMesh) {
  return elementsOfReshard({shape, mesh, targetMesh}, source, target);
}

int64_t shoal::wholeBytes(double elements, int64_t elementBytes) {
  return std::ceil(elementBytes * elements * (1 - 1e-12));
}

int64_t shoal::plannedBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                            const Sharding &source, const Sharding &target,
                            const Mesh &mesh, const Mesh *targetMesh) {
  return wholeBytes(plannedElements(shape, source, target, mesh, targetMesh),
                    elementBytes);
}

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

/// Whether both lists give every device the same rows as far as they go. Axes
/// of one device are as if they were not there.
bool agree(llvm::ArrayRef<AxisId> a, llvm::ArrayRef<AxisId> b,
           const Mesh &mesh) {
  auto skip = [&](llvm::ArrayRef<AxisId> list) {
    return list.drop_while(
        [&](AxisId axis) { return mesh.axes[axis].size == 1; });
  };
  for (a = skip(a), b = skip(b); !a.empty() && !b.empty();
       a = skip(a.drop_front()), b = skip(b.drop_front()))
    if (a.front() != b.front())
      return false;
  return true;
}

/// What becomes of an axis.
struct AxisUse {
  bool splits = false, isPartial = false;
  bool any() const { return splits || isPartial; }
};

llvm::SmallVector<AxisUse, 8> usesOf(const Sharding &sharding, size_t count) {
  llvm::SmallVector<AxisUse, 8> uses(count);
  for (const AxisList &dim : sharding.dims)
    for (AxisId axis : dim)
      uses[axis].splits = true;
  for (AxisId axis : sharding.partial)
    uses[axis].isPartial = true;
  return uses;
}

} // namespace

Reshard::Reshard(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                 const Sharding &from, const Sharding &to, const Mesh &mesh,
                 bool otherDeviceOrder)
    : shape(shape), elementBytes(elementBytes) {
  auto before = usesOf(from, mesh.axes.size());
  auto after = usesOf(to, mesh.axes.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    conflict |= !agree(from.dims[d], to.dims[d], mesh);
    source.push_back(mesh.sizeOf(from.dims[d]));
    target.push_back(mesh.sizeOf(to.dims[d]));
    sliced.push_back(source.back());
    for (AxisId axis : to.dims[d])
      if (!before[axis].any()) {
        sliced.back() *= mesh.axes[axis].size;
        added *= mesh.axes[axis].size;
      }
  }
  for (auto [axis, was, is] : llvm::zip_equal(mesh.axes, before, after)) {
    if (was.isPartial && !is.isPartial)
      (is.splits ? scattered : reduced) *= axis.size;
    else if (!was.any() && !is.any())
      idle *= axis.size;
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

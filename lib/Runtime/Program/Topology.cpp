// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Topology.h"

namespace shoal::rt {

int64_t Topology::rankWith(int64_t mesh, const Axes &ours, int64_t otherMesh,
                           const Axes &theirs, int64_t index) const {
  int64_t base = meshes[mesh].groupBase(position(mesh), ours);
  const Mesh &other = meshes[otherMesh];
  return other.rankAt(other.member(base, theirs, index));
}

/// The index that a permute has for `index` on the other side of it: `there` of
/// the pair whose `here` it is, or `distance` further.
static std::optional<int64_t> partnerOf(const CollectivePermuteCall &call,
                                        int64_t index, int64_t IndexPair::*here,
                                        int64_t IndexPair::*there,
                                        int64_t distance) {
  if (!call.pairs)
    return (index + distance) % shardCount(call.source);
  for (const IndexPair &pair : *call.pairs)
    if (pair.*here == index)
      return pair.*there;
  return std::nullopt;
}

std::optional<int64_t>
Topology::receiverOf(const CollectivePermuteCall &call) const {
  std::optional<int64_t> index =
      partnerOf(call, indexOver(call.sourceMesh, call.source),
                &IndexPair::source, &IndexPair::target, call.shift);
  if (!index)
    return std::nullopt;
  return rankWith(call.sourceMesh, call.source, call.targetMesh, call.target,
                  *index);
}

std::optional<int64_t>
Topology::senderTo(const CollectivePermuteCall &call) const {
  std::optional<int64_t> index = partnerOf(
      call, indexOver(call.targetMesh, call.target), &IndexPair::target,
      &IndexPair::source, shardCount(call.source) - call.shift);
  if (!index)
    return std::nullopt;
  return rankWith(call.targetMesh, call.target, call.sourceMesh, call.source,
                  *index);
}

std::vector<int64_t> Topology::groupOver(int64_t mesh, const Axes &axes) const {
  const Mesh &grid = meshes[mesh];
  int64_t base = grid.groupBase(position(mesh), axes);
  std::vector<int64_t> ranks;
  for (int64_t index = 0, p = shardCount(axes); index < p; ++index)
    ranks.push_back(grid.rankAt(grid.member(base, axes, index)));
  return ranks;
}

} // namespace shoal::rt

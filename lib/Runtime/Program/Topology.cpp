// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Topology.h"

namespace shoal::rt {

int64_t Topology::shifted(int64_t mesh, const Axes &ours, int64_t otherMesh,
                          const Axes &theirs, int64_t shift) const {
  int64_t base = meshes[mesh].groupBase(position(mesh), ours);
  int64_t index = (indexOver(mesh, ours) + shift) % shardCount(ours);
  const Mesh &other = meshes[otherMesh];
  return other.rankAt(other.member(base, theirs, index));
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

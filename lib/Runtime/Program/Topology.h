// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process as a device of the program's meshes.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_TOPOLOGY_H
#define SHOAL_LIB_RUNTIME_PROGRAM_TOPOLOGY_H

#include "Calls.h"
#include "Mesh.h"

#include <optional>

namespace shoal::rt {

class Topology {
public:
  void setUp(std::vector<Mesh> programMeshes, int64_t rank) {
    meshes = std::move(programMeshes);
    myRank = rank;
  }

  int64_t rank() const { return myRank; }
  const Mesh &mesh(int64_t index) const { return meshes[index]; }
  int64_t position(int64_t mesh) const {
    return meshes[mesh].positionOf(myRank);
  }
  /// This device's index over the axes.
  int64_t indexOver(int64_t mesh, std::span<const SubAxis> axes) const {
    return meshes[mesh].indexAt(position(mesh), axes);
  }

  /// To whom this device sends, and from whom it receives; itself where nothing
  /// moves, none where no pair names it.
  std::optional<int64_t> receiverOf(const CollectivePermuteCall &call) const;
  std::optional<int64_t> senderTo(const CollectivePermuteCall &call) const;

  /// The ranks of this device's group over the axes, by index.
  std::vector<int64_t> groupOver(int64_t mesh, const Axes &axes) const;

private:
  /// The rank of the device with this one's coordinates on `mesh`, but `index`
  /// over `theirs` of `otherMesh` in place of what it has over `ours`.
  int64_t rankWith(int64_t mesh, const Axes &ours, int64_t otherMesh,
                   const Axes &theirs, int64_t index) const;

  std::vector<Mesh> meshes;
  int64_t myRank = 0;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_TOPOLOGY_H

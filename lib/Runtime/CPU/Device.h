// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process as a device of the program's meshes, and its groups.

#ifndef SHOAL_LIB_RUNTIME_CPU_DEVICE_H
#define SHOAL_LIB_RUNTIME_CPU_DEVICE_H

#include "../Common/Mesh.h"

#include <map>
#include <mpi.h>

namespace shoal::rt {

/// One for the process; set up once before the first collective.
class Device {
public:
  static Device &get();

  void setUp(std::vector<Mesh> meshes, int rank);

  const Mesh &mesh(int64_t index) const { return meshes[index]; }
  int64_t position(int64_t mesh) const { return meshes[mesh].positionOf(rank); }
  /// This device's index over the axes.
  int64_t indexOver(int64_t mesh, std::span<const SubAxis> axes) const {
    return meshes[mesh].indexAt(position(mesh), axes);
  }

  /// The group over the axes, ranked by index. Made at first use: all devices
  /// must ask in the same order.
  MPI_Comm group(int64_t mesh, const Axes &axes);

private:
  /// (mesh, axis, pre, size, axis, ...)
  using Key = std::vector<int64_t>;

  std::vector<Mesh> meshes;
  int rank = 0;
  std::map<Key, MPI_Comm> groups;
};

/// Ends the run if an MPI call failed.
void check(int code, const char *what);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_DEVICE_H

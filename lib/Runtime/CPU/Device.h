// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The groups of this device.

#ifndef SHOAL_LIB_RUNTIME_CPU_DEVICE_H
#define SHOAL_LIB_RUNTIME_CPU_DEVICE_H

#include "../Job/World.h"
#include "../Program/Topology.h"

#include <map>

namespace shoal::rt {

/// One for the process; set up once before the first collective.
class Device : public Topology {
public:
  static Device &get();

  /// The group over the axes, ranked by index. Made at first use: all devices
  /// must ask in the same order.
  MPI_Comm group(int64_t mesh, const Axes &axes);

  /// Gives the groups up. Collective.
  void freeGroups();

private:
  /// (mesh, axis, pre, size, axis, ...)
  using Key = std::vector<int64_t>;

  std::map<Key, MPI_Comm> groups;
};

/// Ends the run if an MPI call failed.
void check(int code, const char *what);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_DEVICE_H

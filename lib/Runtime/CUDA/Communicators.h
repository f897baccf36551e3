// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The communicators of NCCL.

#ifndef SHOAL_LIB_RUNTIME_CUDA_COMMUNICATORS_H
#define SHOAL_LIB_RUNTIME_CUDA_COMMUNICATORS_H

#include "../Program/Mesh.h"
#include "Api.h"

#include <map>

namespace shoal::rt {

/// Devices that communicate, and NCCL's name for them. The rank of a device in
/// the communicator is its place in `ranks`, the ranks of MPI.
struct Group {
  ncclComm_t communicator = nullptr;
  std::vector<int64_t> ranks;

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  /// "0, 2, 4"
  std::string describe() const;
};

/// Groups are made at first use: all devices must ask in the same order.
class Communicators {
public:
  static Communicators &get();

  /// All ranks, in the order of MPI.
  const Group &world();

  /// The group over the axes, ranked by index.
  const Group &group(int64_t mesh, const Axes &axes);

  /// Ends the job if NCCL met an error since.
  void checkErrors();

  /// Gives up what is under way, before the process ends.
  static void abort();

private:
  Communicators();

  /// (mesh, axis, pre, size, axis, ...)
  using Key = std::vector<int64_t>;
  /// An empty key for the world.
  std::map<Key, Group> groups;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_COMMUNICATORS_H

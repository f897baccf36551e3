// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds what devices that should hold the same hold differently.

#ifndef SHOAL_LIB_RUNTIME_RUN_REPLICACHECK_H
#define SHOAL_LIB_RUNTIME_RUN_REPLICACHECK_H

#include "../Program/Topology.h"
#include "shoal/Calls/CheckCalls.h"

#include <optional>

namespace shoal::rt {

/// One value at one time.
struct ReplicaRecord {
  const calls::CheckCall *call;
  /// How many checks came before it in the step.
  int64_t order;
  uint64_t hash;
  /// In which iterations of which loops, as messages say it; may be empty.
  std::string loops;
};

struct ReplicaDifference {
  int64_t order;
  std::string text;
};

/// The first of the records that devices of a group have another hash of.
/// `hashes` are those of all ranks, one after another, as many each as there
/// are records.
std::optional<ReplicaDifference>
findDifference(const std::vector<ReplicaRecord> &records,
               std::span<const uint64_t> hashes, const Topology &topology);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_REPLICACHECK_H

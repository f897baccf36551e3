// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_MACHINE_COLLECTIVEKIND_H
#define SHOAL_MACHINE_COLLECTIVEKIND_H

#include <array>

namespace shoal {

enum class CollectiveKind {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  /// collective_permute and exchange: from one device to another.
  Permute,
};
inline constexpr std::array<CollectiveKind, 5> kCollectiveKinds = {
    CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
    CollectiveKind::AllReduce, CollectiveKind::AllToAll,
    CollectiveKind::Permute};

/// As the field names them: "all_gather".
const char *nameOf(CollectiveKind kind);

} // namespace shoal

#endif // SHOAL_MACHINE_COLLECTIVEKIND_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReplicaCheck.h"
#include "shoal/Support/ElementType.h"

#include <algorithm>
#include <map>

namespace shoal::rt {

/// `rank 3`, `ranks 0, 1, ... (30 in all)`.
static std::string rankList(const std::vector<int64_t> &ranks) {
  constexpr size_t shown = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), shown); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > shown)
    text += ", ... (" + std::to_string(ranks.size()) + " in all)";
  return text;
}

static std::string describe(const ReplicaRecord &record,
                            const std::vector<int64_t> &others,
                            const std::vector<int64_t> &most) {
  const calls::CheckCall &call = *record.call;
  bool isInput = call.role == calls::CheckRole::Input;
  std::string text = isInput ? "input \"" + call.what + "\"" : call.what;
  if (!call.place.empty())
    text += " at " + call.place;
  text += record.loops + ": replicas differ: " + rankList(others);
  text += others.size() == 1 ? " holds" : " hold";
  return text + " another shard of " +
         support::formatTensor(call.type, call.blocks.whole) + " than " +
         rankList(most);
}

/// Where the ranks of a group have more than one hash, those that have the most
/// frequent one, of several that of the lowest rank, are right.
static std::optional<std::string>
compareGroup(const ReplicaRecord &record, const std::vector<int64_t> &ranks,
             const std::vector<uint64_t> &hashes) {
  std::map<uint64_t, int64_t> counts;
  for (uint64_t hash : hashes)
    ++counts[hash];
  if (counts.size() == 1)
    return std::nullopt;
  uint64_t right = hashes[0];
  for (uint64_t hash : hashes)
    if (counts[hash] > counts[right])
      right = hash;
  std::vector<int64_t> most, others;
  for (size_t i = 0; i < ranks.size(); ++i)
    (hashes[i] == right ? most : others).push_back(ranks[i]);
  std::sort(most.begin(), most.end());
  std::sort(others.begin(), others.end());
  return describe(record, others, most);
}

/// The axes over which devices hold the same.
static Axes sharedAxes(const calls::CheckCall &call, const Mesh &mesh) {
  Axes used = call.varying;
  for (const Axes &axes : call.blocks.dims)
    used.insert(used.end(), axes.begin(), axes.end());
  return mesh.complement(used);
}

std::optional<ReplicaDifference>
findDifference(const std::vector<ReplicaRecord> &records,
               std::span<const uint64_t> hashes, const Topology &topology) {
  for (size_t number = 0; number < records.size(); ++number) {
    const ReplicaRecord &record = records[number];
    const Mesh &mesh = topology.mesh(record.call->mesh);
    Axes shared = sharedAxes(*record.call, mesh);
    for (int64_t base = 0; base < mesh.numDevices(); ++base) {
      if (mesh.groupBase(base, shared) != base)
        continue;
      std::vector<int64_t> ranks;
      std::vector<uint64_t> own;
      for (int64_t i = 0; i < shardCount(shared); ++i) {
        ranks.push_back(mesh.rankAt(mesh.member(base, shared, i)));
        own.push_back(hashes[ranks.back() * records.size() + number]);
      }
      if (auto text = compareGroup(record, ranks, own))
        return ReplicaDifference{record.order, *text};
    }
  }
  return std::nullopt;
}

} // namespace shoal::rt

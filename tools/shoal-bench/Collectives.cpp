// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Collectives.h"
#include "CPU/Device.h"
#include "shoal/Runtime/ABI.h"
#include "shoal/Support/CollectiveBytes.h"

using namespace shoal;
using namespace shoal::bench;
using calls::ElementType;

/// Of a device's tensor, from a scalar's on.
static constexpr std::array<int64_t, 9> kSizes = {64,       1 << 10,  4 << 10,
                                                  16 << 10, 64 << 10, 256 << 10,
                                                  1 << 20,  4 << 20,  8 << 20};

/// Sizes of groups of equal size.
static std::vector<int64_t> divisorsOf(int64_t ranks) {
  std::vector<int64_t> divisors;
  for (int64_t size = 2; size <= ranks; ++size)
    if (ranks % size == 0)
      divisors.push_back(size);
  return divisors;
}

Collectives::Collectives(rt::World &world, Stopwatch &stopwatch,
                         const Memory &memory)
    : ranks(world.size()), groupSizes(divisorsOf(ranks)) {
  std::vector<rt::Mesh> meshes;
  meshes.reserve(groupSizes.size());
  for (int64_t members : groupSizes)
    meshes.push_back({"groups",
                      {{"outer", ranks / members}, {"inner", members}},
                      /*deviceIds=*/{}});
  rt::Device::get().setUp(meshes, world.rank());
  for (size_t mesh = 0; mesh < groupSizes.size(); ++mesh)
    add(stopwatch, memory, static_cast<int64_t>(mesh), groupSizes[mesh]);
}

void Collectives::add(Stopwatch &stopwatch, const Memory &memory, int64_t mesh,
                      int64_t members) {
  for (int64_t bytes : kSizes)
    addSize(stopwatch, memory, mesh, members, bytes);
}

/// What is gathered, and what is reduced and scattered, is of so many bytes as
/// a whole.
void Collectives::addSize(Stopwatch &stopwatch, const Memory &memory,
                          int64_t mesh, int64_t members, int64_t bytes) {
  constexpr ElementType type = ElementType::F32;
  calls::Axes inner = {{/*axis=*/1, /*pre=*/1, members}};
  int64_t count = std::max(members, bytes / 4 / members * members);
  int64_t part = count / members;
  calls::BlockShapes blocks{{count}, {part}, {inner}};
  auto add = [&](CollectiveKind kind, int64_t sent, std::function<void()> run) {
    points.push_back({kind, members, sent, &stopwatch.add(std::move(run))});
  };
  // The whole is the largest that any of them reads or writes.
  auto prepare = [&](auto function, const auto &call) {
    return prepareCall(function, call, memory.left(count * 4),
                       memory.result(count * 4), memory.scratch());
  };
  int64_t others = (count - part) * 4;
  add(CollectiveKind::AllGather, others,
      prepare(shoal_rt_all_gather,
              calls::AllGatherCall{0, type, mesh, blocks}));
  add(CollectiveKind::ReduceScatter, others,
      prepare(
          shoal_rt_reduce_scatter,
          calls::ReduceScatterCall{0, type, mesh, calls::Kind::Sum, blocks}));
  add(CollectiveKind::AllReduce, support::allReduceSize(count * 4, members),
      prepare(
          shoal_rt_all_reduce,
          calls::AllReduceCall{0, type, mesh, calls::Kind::Sum, count, inner}));
  add(CollectiveKind::AllToAll, others,
      prepare(shoal_rt_all_to_all,
              calls::AllToAllCall{0,
                                  type,
                                  mesh,
                                  {members, part},
                                  {1, count},
                                  {{/*from=*/1, /*to=*/0, inner}}}));
  calls::CollectivePermuteCall permute{
      0,     type, mesh, mesh, count, /*shift=*/1, /*pairs=*/std::nullopt,
      inner, inner};
  add(CollectiveKind::Permute, count * 4,
      prepareCall(shoal_rt_collective_permute, permute, memory.left(count * 4),
                  memory.result(count * 4)));
}

/// A longer message that was faster was disturbed less: times rise with bytes.
Curve Collectives::curveOf(CollectiveKind kind, int64_t members) const {
  Curve curve;
  for (const Point &point : points)
    if (point.kind == kind && point.members == members)
      curve.emplace_back(point.bytes, point.experiment->seconds);
  for (size_t i = curve.size(); i-- > 1;)
    curve[i - 1].second = std::min(curve[i - 1].second, curve[i].second);
  return curve;
}

/// What holds where nothing was measured is a permute of the largest group: its
/// shortest message is latency, its longest one bandwidth. One rank has memory
/// alone.
Level Collectives::level(const Chip &chip) const {
  Level level;
  level.name = "links";
  level.size = ranks;
  level.kind = LevelKind::Bus;
  for (int64_t members : groupSizes)
    for (CollectiveKind kind : kCollectiveKinds)
      level.measured.push_back({kind, members, curveOf(kind, members)});
  level.bandwidth = chip.memoryBandwidth;
  if (groupSizes.empty())
    return level;
  Curve permute = curveOf(CollectiveKind::Permute, ranks);
  level.alpha = level.message = permute.front().second;
  level.bandwidth =
      permute.back().first / (permute.back().second - level.alpha);
  return level;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "JobTable.h"
#include "NodeSockets.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace shoal::rt {

static constexpr auto relaxed = std::memory_order_relaxed;

JobTable::JobTable(World &world) : ownRank(world.rank()) {
  introduce(world, share(world));
  connect(world);
}

/// Makes the table; the rank that speaks for those who share it.
int JobTable::share(World &world) {
  std::vector<int> neighbours = world.neighbours();
  bool isFirst = neighbours.front() == ownRank;
  size_t lines = world.size();
  table = std::make_unique<ProgressTable>();
  std::string name;
  if (isFirst)
    name = table->create(lines).value_or("");
  name.resize(64);
  std::string first = world.gatherOnNode(name).substr(0, name.size());
  first.resize(first.find_last_not_of('\0') + 1);
  bool isMapped = !first.empty() && (isFirst || table->map(first, lines));
  std::string all = world.gatherOnNode(isMapped ? "1" : "0");
  if (isFirst && !first.empty())
    ProgressTable::remove(first);
  if (all.find('0') == std::string::npos)
    return neighbours.front();
  table = std::make_unique<ProgressTable>(lines);
  return ownRank;
}

/// Who is where. All ranks of a node write the same to the table.
void JobTable::introduce(World &world, int speaker) {
  Member mine{{}, getpid(), speaker};
  nodeName().copy(mine.node, sizeof(mine.node) - 1);
  std::string all =
      world.gatherAll({reinterpret_cast<const char *>(&mine), sizeof(mine)});
  members.resize(world.size());
  std::memcpy(static_cast<void *>(members.data()), all.data(), all.size());
  manyNodes = std::any_of(members.begin(), members.end(), [&](const Member &m) {
    return std::strcmp(m.node, mine.node) != 0;
  });
  for (size_t rank = 0; rank < ranks().size(); ++rank) {
    ranks()[rank].rank.store(static_cast<int32_t>(rank), relaxed);
    ranks()[rank].process.store(members[rank].process, relaxed);
    ranks()[rank].place.store(Place::Outside, relaxed);
  }
}

void JobTable::connect(World &world) {
  std::vector<int> speakers;
  speakers.reserve(members.size());
  for (const Member &member : members)
    speakers.push_back(member.speaker);
  bool isAlone = std::all_of(speakers.begin(), speakers.end(),
                             [](int speaker) { return speaker == 0; });
  if (!isAlone)
    links = NodeLinks::connect(world, speakers);
  for (int rank = 0; rank < world.size(); ++rank)
    if (links || isHere(rank))
      visible.push_back(rank);
  beats.resize(world.size());
}

std::vector<int> JobTable::ranksBeside(int rank) const {
  std::vector<int> beside;
  for (int other : visible)
    if (members[other].speaker == members[rank].speaker)
      beside.push_back(other);
  return beside;
}

char JobTable::stateOfRank(int rank) {
  return isHere(rank) ? stateOf(members[rank].process)
                      : ranks()[rank].state.load(relaxed);
}

//===----------------------------------------------------------------------===//
// Other nodes
//===----------------------------------------------------------------------===//

void JobTable::exchange(double seconds) {
  sinceExchange += seconds;
  if (!links || members[ownRank].speaker != ownRank ||
      sinceExchange < links->interval() / 2)
    return;
  sinceExchange = 0;
  links->exchange([this](int rank) { return report(rank); },
                  [this](const RankReport &report) { learn(report); },
                  [this](int speaker) { forget(speaker); });
}

void JobTable::leave() {
  if (!links || members[ownRank].speaker != ownRank)
    return;
  exchange(links->interval());
  links->leave();
}

RankReport JobTable::report(int rank) {
  const RankProgress &line = ranks()[rank];
  RankReport made{rank,
                  static_cast<int32_t>(line.place.load(relaxed)),
                  line.id.load(relaxed),
                  line.step.load(relaxed),
                  line.changes.load(std::memory_order_acquire),
                  line.beats.load(relaxed),
                  static_cast<unsigned char>(line.state.load(relaxed))};
  // The kernel is asked only of a process that does not show that it runs.
  if (isHere(rank))
    made.state = static_cast<unsigned char>(
        made.beats == beats[rank] ? stateOf(members[rank].process) : 'R');
  beats[rank] = made.beats;
  return made;
}

void JobTable::learn(const RankReport &report) {
  if (report.rank < 0 || static_cast<size_t>(report.rank) >= members.size() ||
      isHere(report.rank))
    return;
  RankProgress &line = ranks()[report.rank];
  line.id.store(report.id, relaxed);
  line.step.store(report.step, relaxed);
  line.place.store(static_cast<Place>(report.place), relaxed);
  line.state.store(static_cast<char>(report.state), relaxed);
  line.beats.store(report.beats, relaxed);
  line.changes.store(report.changes, std::memory_order_release);
}

/// Rank 0 speaks for all nodes but this one.
void JobTable::forget(int speaker) {
  for (int rank : visible)
    if (!isHere(rank) && (speaker == 0 || members[rank].speaker == speaker))
      ranks()[rank].state.store(silent, relaxed);
}

} // namespace shoal::rt

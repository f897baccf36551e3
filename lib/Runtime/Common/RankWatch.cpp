// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RankWatch.h"
#include "FlightRecorder.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace shoal::rt {

static constexpr auto relaxed = std::memory_order_relaxed;
/// How often ranks are looked at.
static constexpr double interval = 0.25;
/// How long a rank waits for one that has left before that is a fault: others
/// may be about to leave, too.
static constexpr double patience = 1.5;

static constexpr int64_t defaultTimeout = 60;

Result<int64_t> collectiveTimeout() {
  const char *text = std::getenv("SHOAL_COLLECTIVE_TIMEOUT");
  if (!text)
    return defaultTimeout;
  std::string_view value = text;
  int64_t seconds = 0;
  auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error != std::errc() || end != value.data() + value.size() || seconds < 0)
    return Error{"SHOAL_COLLECTIVE_TIMEOUT: \"" + std::string(value) +
                 "\" is not a number of seconds"};
  return seconds;
}

RankWatch &RankWatch::get() {
  static RankWatch watch;
  return watch;
}

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

/// At the end of a process that has not said so.
RankWatch::~RankWatch() { stop(); }

/// A table for the ranks of this machine. Where they cannot share memory each
/// has one of its own, and sees itself alone.
void RankWatch::share(World &world) {
  std::vector<int> neighbours = world.neighbours();
  size_t line = std::find(neighbours.begin(), neighbours.end(), world.rank()) -
                neighbours.begin();
  table = std::make_unique<ProgressTable>();
  std::string name;
  if (line == 0)
    name = table->create(neighbours.size()).value_or("");
  name.resize(64);
  std::string first = world.gatherOnNode(name).substr(0, name.size());
  first.resize(first.find_last_not_of('\0') + 1);
  bool isMapped =
      !first.empty() && (line == 0 || table->map(first, neighbours.size()));
  std::string all = world.gatherOnNode(isMapped ? "1" : "0");
  if (line == 0 && !first.empty())
    ProgressTable::remove(first);
  if (all.find('0') != std::string::npos) {
    table = std::make_unique<ProgressTable>(1);
    line = 0;
  }
  if (table->ranks().empty())
    return;
  own = &table->ranks()[line];
  own->rank.store(world.rank(), relaxed);
  own->process.store(getpid(), relaxed);
  own->place.store(Place::Outside, relaxed);
}

void RankWatch::start(World &world, const Program &ofRanks, int64_t seconds) {
  program = &ofRanks;
  numRanks = world.size();
  limit = static_cast<double>(seconds);
  if (seconds == 0 || numRanks == 1)
    return;
  share(world);
  if (!own)
    return;
  seen.assign(table->ranks().size(), {});
  isStopping = false;
  process = getpid();
  thread = std::thread([this] { watch(); });
}

void RankWatch::stop() {
  if (!thread.joinable())
    return;
  if (process != getpid())
    return thread.detach();
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  stopping.notify_one();
  thread.join();
  end();
  own = nullptr;
  table.reset();
}

void RankWatch::beginStep() {
  if (own)
    own->step.store(own->step.load(relaxed) + 1, relaxed);
}

void RankWatch::end() {
  // A child of fork has the table, and is no rank.
  if (own && process == getpid())
    own->place.store(Place::Ended, relaxed);
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void RankWatch::watch() {
  auto before = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  while (!stopping.wait_for(lock, std::chrono::duration<double>(interval),
                            [this] { return isStopping; })) {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - before).count();
    before = now;
    // Of the time that this process itself has not run nothing is known.
    look(std::min(seconds, 2 * interval));
  }
}

void RankWatch::update(Seen &seen, const RankProgress &rank,
                       double seconds) const {
  uint64_t beats = rank.beats.load(relaxed);
  int64_t changes = rank.changes.load(std::memory_order_acquire);
  seen.still = beats == seen.beats ? seen.still + seconds : 0;
  seen.unchanged = changes == seen.changes ? seen.unchanged + seconds : 0;
  seen.beats = beats;
  seen.changes = changes;
}

void RankWatch::look(double seconds) {
  own->beats.store(own->beats.load(relaxed) + 1, relaxed);
  std::span<RankProgress> ranks = table->ranks();
  for (size_t i = 0; i < ranks.size(); ++i)
    update(seen[i], ranks[i], seconds);
  if (isWaiting(own->place.load(relaxed)))
    judge();
}

static std::string secondsText(double seconds) {
  return std::to_string(static_cast<int64_t>(seconds)) + " s";
}

/// A rank that the others wait for in vain, and why.
void RankWatch::blame(const RankProgress &rank, const std::string &why) {
  std::string text = "rank " + std::to_string(rank.rank.load(relaxed)) +
                     " (process " + std::to_string(rank.process.load(relaxed));
  text += ") " + why + ": rank " + std::to_string(own->rank.load(relaxed)) +
          " waits for it in ";
  text += describe(own->place.load(relaxed), own->id.load(relaxed)) + ", step ";
  endJob(text + std::to_string(own->step.load(relaxed)));
}

/// Whether this rank, which waits, waits in vain. A rank that computes may take
/// as long as it likes.
void RankWatch::judge() {
  std::span<RankProgress> ranks = table->ranks();
  Place here = own->place.load(relaxed);
  double waited = seen[own - ranks.data()].unchanged;
  bool areAllWaiting = true, areTogether = true;
  for (size_t i = 0; i < ranks.size(); ++i) {
    Place place = ranks[i].place.load(relaxed);
    if (seen[i].still >= limit)
      blame(ranks[i], "has not run for " + secondsText(seen[i].still));
    if (place == Place::Ended && waited >= patience)
      blame(ranks[i], "has left the program");
    areAllWaiting &= place != Place::Outside && seen[i].unchanged >= limit;
    areTogether &=
        place == here && ranks[i].id.load(relaxed) == own->id.load(relaxed);
  }
  bool seesAll = ranks.size() == static_cast<size_t>(numRanks);
  // In one collective, all of them: it is slow, no more.
  if (!areAllWaiting || (areTogether && seesAll))
    return;
  std::string since =
      secondsText(waited) + " in " + describe(here, own->id.load(relaxed));
  endJob(seesAll ? "ranks wait for each other, for " + since
                 : "ranks of other machines do not come: all of this one have "
                   "waited " +
                       since);
}

void RankWatch::endJob(const std::string &message) {
  if (table->claimsTheWord()) {
    std::string text = "error: " + message + "\n";
    std::span<RankProgress> ranks = table->ranks();
    for (size_t i = 0; i < ranks.size(); ++i)
      text += "  " + describe(ranks[i], seen[i]) + "\n";
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    writeFlightRecord(ranks, *program);
    // MPI is for the other thread alone, which waits; the launcher ends the
    // other ranks when this one leaves.
    std::_Exit(1);
  }
  // Another one speaks, and then leaves.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::_Exit(1);
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

std::string RankWatch::describe(Place place, int64_t id) const {
  if (place == Place::Agreement)
    return "an agreement of all ranks";
  std::string text(activityName(static_cast<Activity>(place)));
  if (id < 0 || static_cast<size_t>(id) >= program->collectives.size())
    return text;
  const CollectiveInfo &info = program->collectives[id];
  return info.kind + " over " + info.axes + " at " + info.loc;
}

/// As the kernel has it: "T" is stopped.
static char stateOf(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  size_t name = text.rfind(')');
  return name == std::string::npos || name + 2 >= text.size() ? 'X'
                                                              : text[name + 2];
}

/// The last collective of the program that a rank was in.
std::string RankWatch::describeLast(const RankProgress &rank) const {
  uint64_t end = rank.recorded.load(relaxed);
  uint64_t begin = end - std::min<uint64_t>(end, RankProgress::kept);
  for (uint64_t i = end; i > begin; --i) {
    const RecordedCollective &last = rank.last[(i - 1) % RankProgress::kept];
    Place place = last.place.load(relaxed);
    if (place != Place::Agreement)
      return describe(place, last.id.load(relaxed));
  }
  return "no collective yet";
}

std::string RankWatch::describe(const RankProgress &rank,
                                const Seen &seen) const {
  std::string text = "rank " + std::to_string(rank.rank.load(relaxed)) +
                     ": step " + std::to_string(rank.step.load(relaxed));
  Place place = rank.place.load(relaxed);
  if (place == Place::Ended)
    text += ", has left the program";
  if (isWaiting(place))
    text += ", in " + describe(place, rank.id.load(relaxed)) + " since " +
            secondsText(seen.unchanged);
  if (!isWaiting(place) || place == Place::Agreement)
    text += ", behind " + describeLast(rank);
  char state = stateOf(rank.process.load(relaxed));
  if (state == 'T' || state == 't')
    text += "; the process is stopped";
  else if (state == 'X' || state == 'Z')
    text += "; the process has ended";
  return text;
}

} // namespace shoal::rt

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RankWatch.h"
#include "FlightRecorder.h"
#include "Launcher.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace shoal::rt {

static constexpr auto relaxed = std::memory_order_relaxed;
/// How often ranks are looked at.
static constexpr double interval = 0.25;
/// How long a rank waits for one that has left before that is a fault: others
/// may be about to leave, too.
static constexpr double patience = 1.5;
/// How much later than of this node's ranks is heard of another one's.
static constexpr double hearsay = 0.5;
/// How long other nodes leave the word to that of rank 0.
static constexpr double politeness = 0.75;

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

/// It is never destroyed: a child of fork would wait for a thread that it has
/// not, as the destructors of the thread and of what it waits for do.
RankWatch &RankWatch::get() {
  alignas(RankWatch) static std::byte memory[sizeof(RankWatch)];
  static auto *watch = new (memory) RankWatch;
  static AtEnd stops;
  return *watch;
}

/// At the end of a process that has not said so.
RankWatch::AtEnd::~AtEnd() { get().stop(); }

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

void RankWatch::start(World &world, const Program &ofRanks, int64_t seconds) {
  program = &ofRanks;
  limit = static_cast<double>(seconds);
  if (seconds == 0 || world.size() == 1)
    return;
  table = std::make_unique<JobTable>(world);
  if (table->ranks().empty())
    return;
  own = &table->ranks()[world.rank()];
  seen.assign(table->ranks().size(), {});
  isStopping = false;
  process = getpid();
  thread = std::thread([this] { watch(); });
}

void RankWatch::stop() {
  if (!thread.joinable() || process != getpid())
    return;
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  stopping.notify_one();
  thread.join();
  end();
  table->leave();
  own = nullptr;
  table.reset();
  seen = {};
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
    // Of the time that this process itself has not run nothing is known: after
    // an hour in which a laptop was asleep half a second has passed.
    look(std::min(seconds, 2 * interval));
  }
}

/// Of a rank that computes, enters a collective and is stopped there, at looks
/// that are 0.25 s apart:
///
///   its beats      40    41    42    42    42
///   its changes     6     7     7     7     7   entering is one
///   still           0     0     0  0.25   0.5   seconds that it has not run
///   unchanged    0.25     0  0.25   0.5  0.75   seconds that it is where it is
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
  table->exchange(seconds);
  for (int rank : table->watched())
    update(seen[rank], table->ranks()[rank], seconds);
  if (isWaiting(own->place.load(relaxed)))
    judge();
}

static std::string secondsText(double seconds) {
  return std::to_string(static_cast<int64_t>(seconds)) + " s";
}

/// That a rank has not shown for too long that it runs. Of another node it
/// is heard later: with a limit of 10 s one that is stopped is lost after 10 s
/// for the ranks beside it, after 10.5 s for others.
bool RankWatch::isLost(int rank) const {
  return seen[rank].still >= limit + (table->isHere(rank) ? 0 : hearsay);
}

std::string RankWatch::waitsIn() const {
  return " in " + describe(own->place.load(relaxed), own->id.load(relaxed)) +
         ", step " + std::to_string(own->step.load(relaxed));
}

/// A rank that the others wait for in vain, and why.
void RankWatch::blame(int rank, const std::string &why) {
  int number = table->ranks()[rank].process.load(relaxed);
  std::string where = table->hasManyNodes() ? " on " + table->nodeOf(rank) : "";
  endJob("rank " + std::to_string(rank) + " (process " +
             std::to_string(number) + where + ") " + why + ": rank " +
             std::to_string(own->rank.load(relaxed)) + " waits for it" +
             waitsIn(),
         /*isHearsay=*/!table->isHere(rank));
}

/// The node of a rank of which nothing is heard: it is off, its network is
/// cut, or what speaks for it is stopped.
void RankWatch::blameNode(int rank) {
  std::string ranks;
  std::vector<int> beside = table->ranksBeside(rank);
  for (int other : beside)
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(other);
  endJob("node " + table->nodeOf(rank) + " (rank" +
             (beside.size() > 1 ? "s " : " ") + ranks +
             ") has not been heard of for " + secondsText(seen[rank].still) +
             ": rank " + std::to_string(own->rank.load(relaxed)) +
             " waits for it" + waitsIn(),
         /*isHearsay=*/true);
}

/// Whether this rank, which waits, waits in vain. A rank that computes may take
/// as long as it likes. Of three ranks of a node and a limit of 10 s, where
/// ranks 0 and 1 wait in all_reduce 3 from second 0 on, and from second 2 on
///
///   rank 2 computes              nothing, for hours if it must be
///   rank 2 is stopped            at second 12: "rank 2 has not run for 10 s"
///   rank 2 has left              at second 2, as 0 and 1 have waited for 1.5 s
///                                by then: "rank 2 has left the program"
///   rank 2 is in all_gather 4    at second 12, when the last one has waited
///                                for 10 s: "ranks wait for each other"
///   rank 2 is in all_reduce 3    nothing: they are together, and it is slow
void RankWatch::judge() {
  std::span<RankProgress> ranks = table->ranks();
  Place here = own->place.load(relaxed);
  double waited = seen[table->own()].unchanged;
  bool areAllWaiting = true, areTogether = true, seesAll = table->seesAll();
  double deadlock = limit + (table->hasManyNodes() ? 2 * hearsay : 0);
  for (int rank : table->watched()) {
    if (table->isSilent(rank)) {
      seesAll = false;
      continue;
    }
    Place place = ranks[rank].place.load(relaxed);
    if (isLost(rank)) {
      std::vector<int> beside = table->ranksBeside(rank);
      if (!table->isHere(rank) &&
          std::all_of(beside.begin(), beside.end(),
                      [this](int other) { return isLost(other); }))
        blameNode(rank);
      blame(rank, "has not run for " + secondsText(seen[rank].still));
    }
    if (place == Place::Ended && waited >= patience)
      blame(rank, "has left the program");
    // One that does not run is lost, a little later.
    areAllWaiting &= place != Place::Outside &&
                     seen[rank].unchanged >= deadlock &&
                     seen[rank].still < hearsay + 2 * interval;
    areTogether &=
        place == here && ranks[rank].id.load(relaxed) == own->id.load(relaxed);
  }
  // In one collective, all of them: it is slow, no more.
  if (!areAllWaiting || (areTogether && seesAll))
    return;
  std::string since =
      secondsText(waited) + " in " + describe(here, own->id.load(relaxed));
  endJob(seesAll ? "ranks wait for each other, for " + since
                 : "ranks of other nodes do not come: all that this one "
                   "sees have waited " +
                       since,
         /*isHearsay=*/true);
}

/// One process speaks for its node and leaves; its others leave behind it.
/// Of two nodes with ranks 0, 1 and 2, 3 and a limit of 10 s:
///
///   rank 1 is stopped   10 s: rank 0, beside it, "rank 1 has not run"; the
///                       other node would say so after 10.5 + 0.75 s
///   rank 3 is stopped   10 s: rank 2, beside it; rank 0's node, which only
///                       heard of it, would say so after 10.5 s
///   2 and 3 are off     10.5 s: rank 0 or 1, "node b has not been heard of"
void RankWatch::endJob(const std::string &message, bool isHearsay) {
  if (table->claimsTheWord()) {
    // One node's words are enough, if they are heard: first those of who saw
    // it, then those of rank 0's node.
    if (isHearsay && !table->isFirstNode())
      std::this_thread::sleep_for(std::chrono::duration<double>(politeness));
    std::string text = "error: " + message + "\n";
    for (int rank : table->watched())
      text += "  " + describe(rank) + "\n";
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    writeFlightRecord(table->ranks(), *program);
    makeSureLauncherEnds();
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
  if (place == Place::Caller)
    return "a call of mpi4py";
  std::string text(activityName(static_cast<Activity>(place)));
  if (!program || id < 0 ||
      static_cast<size_t>(id) >= program->collectives.size())
    return text;
  const CollectiveInfo &info = program->collectives[id];
  return info.kind + " over " + info.axes + " at " + info.loc;
}

/// The last collective of the program that a rank was in.
std::string RankWatch::describeLast(const RankProgress &rank) const {
  uint64_t end = rank.recorded.load(relaxed);
  uint64_t begin = end - std::min<uint64_t>(end, RankProgress::kept);
  for (uint64_t i = end; i > begin; --i) {
    const RecordedCollective &last = rank.last[(i - 1) % RankProgress::kept];
    Place place = last.place.load(relaxed);
    if (place < Place::Agreement)
      return describe(place, last.id.load(relaxed));
  }
  return "no collective yet";
}

/// `rank 0: step 7, in all_reduce over {"data"} at train.py:41:12 since 10 s`,
/// or, of one that does not wait,
/// `rank 2: step 7, behind all_to_all over {"data"} at moe.py:80:9; the process
/// is stopped`.
std::string RankWatch::describe(int number) const {
  const RankProgress &rank = table->ranks()[number];
  std::string where =
      table->hasManyNodes() ? " on " + table->nodeOf(number) : "";
  std::string text = "rank " + std::to_string(number) + where + ": step " +
                     std::to_string(rank.step.load(relaxed));
  Place place = rank.place.load(relaxed);
  if (place == Place::Ended)
    text += ", has left the program";
  if (isWaiting(place))
    text += ", in " + describe(place, rank.id.load(relaxed)) + " since " +
            secondsText(seen[number].unchanged);
  if (!isWaiting(place) || place >= Place::Agreement)
    text += ", behind " + describeLast(rank);
  char state = table->stateOfRank(number);
  if (state == 'T' || state == 't')
    text += "; the process is stopped";
  else if (state == 'X' || state == 'Z')
    text += "; the process has ended";
  return text;
}

} // namespace shoal::rt

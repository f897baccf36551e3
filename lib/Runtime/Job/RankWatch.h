// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends a job whose ranks wait for one that will not come, and says which, where
// and in which step. See docs/guide/Faults.md.

#ifndef SHOAL_LIB_RUNTIME_JOB_RANKWATCH_H
#define SHOAL_LIB_RUNTIME_JOB_RANKWATCH_H

#include "../Program/Program.h"
#include "JobTable.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace shoal::rt {

/// One for the process. A thread looks at what the ranks of the job are doing,
/// four times a second. A step of two ranks, of which the second stops in it:
///
///   seconds   rank 0                  rank 1        what rank 0 sees of it
///   0         beginStep: step 7       beginStep     it runs
///   0.1       enter(AllReduce, 3)     computes      it runs
///   2         waits                   is stopped    it runs
///   2.5       waits                                 it is still for 0.25 s
///   12        waits; its limit is 10                it is still for 10 s:
///                                                   says so, ends the job
///
/// Had rank 1 come, both would have left the collective, and all is well.
class RankWatch {
public:
  static RankWatch &get();

  /// Collective. The limit, in seconds, after which a rank that does not run,
  /// or ranks that wait for each other, end the job; 0: never. The program
  /// stays where it is until `stop`.
  void start(World &world, const Program &program, int64_t limit);
  /// This rank takes no part any more.
  void stop();

  void beginStep();
  void enter(Place place, int64_t id) {
    if (own)
      own->enter(place, id);
  }
  void leave() {
    if (own)
      own->leave();
  }
  /// "all_reduce over {"data"} at train.py:41:12", as far as the program says.
  std::string describe(Place place, int64_t id) const;
  /// This process leaves: who waits for it would wait for ever.
  void end();

private:
  struct AtEnd {
    ~AtEnd();
  };

  RankWatch() = default;

  /// What was seen of another rank, and for how many seconds it has not
  /// changed while this process ran.
  struct Seen {
    uint64_t beats = 0;
    int64_t changes = -1;
    double still = 0;
    double unchanged = 0;
  };

  void watch();
  void look(double seconds);
  void update(Seen &seen, const RankProgress &rank, double seconds) const;
  void judge();
  bool isLost(int rank) const;
  [[noreturn]] void blame(int rank, const std::string &why);
  [[noreturn]] void blameNode(int rank);
  [[noreturn]] void endJob(const std::string &message, bool isHearsay);

  std::string waitsIn() const;
  std::string describeLast(const RankProgress &rank) const;
  std::string describe(int rank) const;

  std::unique_ptr<JobTable> table;
  RankProgress *own = nullptr;
  const Program *program = nullptr;
  double limit = 0;
  std::vector<Seen> seen;

  std::thread thread;
  std::mutex mutex;
  std::condition_variable stopping;
  bool isStopping = false;
  /// The process that has the thread.
  int process = 0;
};

/// Until its end this rank waits for others.
class Waiting {
public:
  Waiting(Place place, int64_t id, bool waits = true) : waits(waits) {
    if (waits)
      RankWatch::get().enter(place, id);
  }
  ~Waiting() {
    if (waits)
      RankWatch::get().leave();
  }
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;

private:
  bool waits;
};

/// The limit that SHOAL_COLLECTIVE_TIMEOUT says, in seconds; else the default.
Result<int64_t> collectiveTimeout();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_RANKWATCH_H

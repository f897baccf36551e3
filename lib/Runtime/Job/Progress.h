// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each rank of a job is doing, in memory that those of a node share:
// the flight recorder. Free of MPI.

#ifndef SHOAL_LIB_RUNTIME_JOB_PROGRESS_H
#define SHOAL_LIB_RUNTIME_JOB_PROGRESS_H

#include "../Program/Recorder.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace shoal::rt {

/// Where a rank is: in a collective of the program, which Activity numbers, or
/// in one of these.
enum class Place : int32_t {
  /// Computing, or between two steps.
  Outside = -1,
  /// The process has left the program, or is about to.
  Ended = -2,
  /// In an agreement of all ranks, in front of a step or behind it.
  Agreement = 1000,
  /// In a call of MPI of the process' own, outside of the program.
  Caller = 1001,
};

inline Place placeOf(Activity activity) { return static_cast<Place>(activity); }

inline bool isWaiting(Place place) { return static_cast<int32_t>(place) >= 0; }

/// One that has ended, if `end` is not 0.
struct RecordedCollective {
  std::atomic<Place> place;
  std::atomic<int64_t> id;
  std::atomic<int64_t> step;
  /// Nanoseconds of CLOCK_MONOTONIC, which the ranks of a node share.
  std::atomic<int64_t> begin, end;
};

/// Written by one rank, read by all of its node; elsewhere by the node's
/// speaker, as NodeLinks tell it, without the last collectives.
struct alignas(64) RankProgress {
  static constexpr size_t kept = 64;

  std::atomic<int32_t> rank;
  std::atomic<int32_t> process;
  /// A thread counts it up as long as the process runs.
  std::atomic<uint64_t> beats;
  std::atomic<Place> place;
  /// Of the collective in the metadata, or -1.
  std::atomic<int64_t> id;
  std::atomic<int64_t> step;
  /// How many times it has entered or left a collective.
  std::atomic<int64_t> changes;
  /// Of a rank elsewhere, as the kernel there has it: see stateOf; 0 as long as
  /// its node has not spoken.
  std::atomic<char> state;
  /// How many were recorded; the last ones are kept.
  std::atomic<uint64_t> recorded;
  RecordedCollective last[kept];

  void enter(Place place, int64_t id);
  void leave();
};

int64_t monotonicNanoseconds();

/// Of a process of this node, as the kernel has it: 'T' is stopped, 'Z' has
/// ended; 'X' where there is none.
char stateOf(int process);

/// A table with a line for each rank of the job. All zero at first.
class ProgressTable {
public:
  /// Of this process alone.
  explicit ProgressTable(size_t lines);
  ProgressTable() = default;
  ~ProgressTable();
  ProgressTable(const ProgressTable &) = delete;
  ProgressTable &operator=(const ProgressTable &) = delete;

  /// Makes memory that other processes may map, under a name that `remove`
  /// takes away; no text where that cannot be.
  std::optional<std::string> create(size_t lines);
  static void remove(const std::string &name);
  bool map(const std::string &name, size_t lines);

  std::span<RankProgress> ranks() { return {lines, count}; }

  /// True for the first process that asks.
  bool claimsTheWord();

private:
  bool mapFile(int file, size_t lines);

  void *memory = nullptr;
  size_t bytes = 0;
  RankProgress *lines = nullptr;
  size_t count = 0;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_PROGRESS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program's checks of its values find. See docs/guide/Debugging.md.

#ifndef SHOAL_LIB_RUNTIME_RUN_CHECKS_H
#define SHOAL_LIB_RUNTIME_RUN_CHECKS_H

#include "../Job/World.h"
#include "../Program/Program.h"
#include "ElementScan.h"
#include "ReplicaCheck.h"

#include <chrono>

namespace shoal::rt {

/// One for the process. A rank that has found something goes on to the end of
/// the step, where all hear of what came first in the program: others wait for
/// it.
class Checks {
public:
  static Checks &get();

  void beginStep(World &world, const Program &program);
  void check(const calls::CheckCall &call, const Topology &topology,
             const char *data);
  void count(const calls::IterationCall &call);

  /// Collective, where the program has checks: what the ranks have found in
  /// this step.
  Status endStep();

private:
  struct Loop {
    std::string place;
    int64_t iteration;
  };
  struct Finding {
    /// How many checks came before it in the step.
    int64_t order;
    std::string text;
    std::chrono::steady_clock::time_point time;
  };

  void checkFinite(const calls::CheckCall &call, const support::Block &block,
                   const char *data);
  void compareReplicas();
  std::string loopText() const;

  World *world = nullptr;
  const Topology *topology = nullptr;
  bool isOn = false;
  int64_t step = 0;
  int64_t order = 0;
  std::vector<Loop> loops;
  /// Of each value whether it had NaN, or infinities, when it was last seen.
  std::vector<uint8_t> flags;
  std::optional<Finding> nonFinite;
  std::vector<ReplicaRecord> records;
  /// The same on all ranks.
  std::optional<ReplicaDifference> difference;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_CHECKS_H

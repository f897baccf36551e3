// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Work in child processes, so that a crash or a hang is a result like others.

#ifndef SHOAL_FUZZ_ISOLATION_H
#define SHOAL_FUZZ_ISOLATION_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace shoal::fuzz {

/// How an item ended. `text` is what its work returned or, where it did not
/// get that far, how the process ended: "crash: signal 6: Assertion ...",
/// "hang: ..."; `stage` is what the work observed last.
struct Outcome {
  uint64_t item = 0;
  bool isFinished = false;
  std::string stage, text;
};

struct IsolationOptions {
  unsigned jobs = 1;
  /// Items of one process.
  unsigned batch = 64;
  unsigned secondsPerItem = 60;
};

/// Reports the stage that begins.
using Observer = llvm::function_ref<void(llvm::StringRef)>;

/// Runs `work` on the items in [begin, end), `jobs` at a time, each batch in a
/// process forked from this one. What it returns, one line, goes with its item
/// to `done`, in this process and in any order; `done` returns whether to go
/// on. After a crash or hang a new process goes on behind that item.
void runIsolated(uint64_t begin, uint64_t end, const IsolationOptions &options,
                 llvm::function_ref<std::string(uint64_t, Observer)> work,
                 llvm::function_ref<bool(const Outcome &)> done);

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_ISOLATION_H

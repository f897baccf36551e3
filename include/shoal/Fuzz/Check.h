// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whether a program means the same at every stage and in every way to run it.

#ifndef SHOAL_FUZZ_CHECK_H
#define SHOAL_FUZZ_CHECK_H

#include "shoal/Fuzz/Census.h"
#include "shoal/Fuzz/ProgramBuilder.h"

namespace shoal::fuzz {

struct CheckOptions {
  /// Of the arguments' elements.
  uint64_t inputSeed = 0;
  /// Also compile the program and run it under MPI.
  bool execute = false;
  /// Also run it with windowed einsums and with sparse ones.
  bool rewrite = true;
  /// Check the program's derivative instead, and it by differences.
  bool gradients = false;
  /// For CUDA on the emulated device instead of the CPU.
  bool emulated = false;
  /// Where the runtime libraries are.
  std::string runtimeDirectory;
  /// Starts ranks; the number of them and the executable follow.
  llvm::SmallVector<std::string> launcher;
};

/// What went wrong, and in which stage: "verify", "text of PASS", a pass,
/// "compare", "execute".
struct Finding {
  std::string stage, message;

  /// The finding without what differs from program to program: numbers, names
  /// and types.
  std::string signature() const;
};

/// Tells which stage begins; where a crash is, when it comes.
using StageObserver = llvm::function_ref<void(llvm::StringRef)>;

/// As `check`, without what comes behind where a program failed: in stage
/// `stage`, as a shrinker asks again and again.
CheckOptions upTo(llvm::StringRef stage, const CheckOptions &check);

/// Verifies the program, prints and parses it, partitions it with the verifier
/// and a round trip through text after every pass, runs the global and the
/// partitioned program, also with windowed einsums and with one-hot einsums at
/// sparse cost, in the interpreter and compares the results within the ranges'
/// errors; where asked for, the executables' too. With `gradients` all that is
/// done to the program's derivative by all floats, whose errors are measured
/// beside the same program in f64; and the latter's gradients are compared with
/// central differences. Nothing where all holds.
/// Changes the program's module, and counts its ops and, of those that are
/// executed, the sides of thresholds that they are on.
std::optional<Finding> checkProgram(Program &program,
                                    const CheckOptions &options,
                                    StageObserver observe, Census &census);

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_CHECK_H

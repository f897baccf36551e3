// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random programs from seeds, each made and checked in a child process.

#ifndef SHOAL_FUZZ_FUZZER_H
#define SHOAL_FUZZ_FUZZER_H

#include "shoal/Fuzz/Check.h"
#include "shoal/Fuzz/Generators.h"
#include "shoal/Fuzz/Isolation.h"

namespace shoal::fuzz {

struct FuzzOptions {
  uint64_t firstSeed = 0, lastSeed = 0;
  /// The executable of every so manieth program runs too; 0 for none.
  unsigned executeEvery = 0;
  /// Shrink failing programs, the first of each kind, to files in this folder.
  bool shrink = false;
  std::string outputDirectory;
  /// After so long a program is as small as it gets.
  unsigned shrinkSeconds = 600;
  /// Also print on which sides of thresholds of sizes programs were.
  bool census = false;
  /// Stop after so many failures; 0 for never.
  unsigned maxFailures = 0;
  Generators generators = Generators::all();
  IsolationOptions isolation;
  CheckOptions check;
};

/// The program of a seed.
Program makeProgram(mlir::MLIRContext &context, const Generators &generators,
                    uint64_t seed);

/// Checks the programs of the seeds, prints each failure as it comes and a
/// summary at the end. Returns whether there was none.
bool fuzz(mlir::MLIRContext &context, const FuzzOptions &options);

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_FUZZER_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How often each op is drawn, and how often it is partitioned; and on which
// sides of the code's thresholds of sizes programs are.

#ifndef SHOAL_FUZZ_CENSUS_H
#define SHOAL_FUZZ_CENSUS_H

#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace shoal::fuzz {

/// Of one op, in one program or in many.
struct OpCount {
  /// In random programs, in regions too; and in how many of them.
  uint64_t drawn = 0, programs = 0;
  /// With a chosen sharding: what composites decompose to counts here. Those
  /// of which an operand or result has a split dimension, and those of which
  /// one is split into shards that are not all full.
  uint64_t assigned = 0, split = 0, uneven = 0;

  OpCount &operator+=(const OpCount &other);
};

/// Of one threshold (shoal/Support/Threshold.h), in how many programs something
/// was below it, and something was not.
struct SizeCount {
  double value = 0;
  uint64_t below = 0, above = 0;
};

class Census {
public:
  /// Counts a program as it was drawn.
  void addDrawn(mlir::ModuleOp module);
  /// Counts a program behind --shoal-assign.
  void addAssigned(mlir::ModuleOp module);
  /// Counts the sides that one program is on, of texts of support::takeSides:
  /// its compiler's, its executables'.
  void addSides(llvm::ArrayRef<std::string> texts);
  Census &operator+=(const Census &other);

  const std::map<std::string, OpCount> &getCounts() const { return counts; }
  const std::map<std::string, SizeCount> &getSizes() const { return sizes; }
  /// In one line, and back.
  std::string encode() const;
  static Census decode(llvm::StringRef text);
  /// A table, the ops most drawn first.
  void print(llvm::raw_ostream &os) const;
  /// A table, what was on one side alone first.
  void printSizes(llvm::raw_ostream &os) const;

private:
  std::map<std::string, OpCount> counts;
  std::map<std::string, SizeCount> sizes;
};

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_CENSUS_H

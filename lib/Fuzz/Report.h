// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a run of many programs found.

#ifndef SHOAL_LIB_FUZZ_REPORT_H
#define SHOAL_LIB_FUZZ_REPORT_H

#include "shoal/Fuzz/Census.h"
#include "shoal/Fuzz/Isolation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <map>
#include <vector>

namespace shoal::fuzz {

/// How one item ended, as text that passes through a pipe.
struct ItemReport {
  /// Empty where all went well.
  std::string signature, message;
  /// Where it ended.
  llvm::StringRef stage() const {
    return llvm::StringRef(message).split(": ").first;
  }
  /// What the item was made of.
  Census census;

  std::string encode() const;
  static ItemReport decode(const Outcome &outcome);
};

class RunReport {
public:
  explicit RunReport(llvm::StringRef itemName, bool printsSizes = false)
      : itemName(itemName), printsSizes(printsSizes) {}

  /// Counts, and prints a failure. Returns whether it is the first of its kind.
  bool add(uint64_t item, const ItemReport &report);
  /// Of what, how many, how fast; failures by kind, the most frequent first.
  void printSummary(llvm::raw_ostream &os) const;
  size_t numFailures() const { return failed; }

private:
  llvm::StringRef itemName;
  bool printsSizes;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  size_t items = 0, failed = 0;
  Census census;
  std::map<std::string, std::vector<uint64_t>> failures;
};

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_REPORT_H

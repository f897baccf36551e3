// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which annotation would do away with what is sent.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_FINDREMOVALS_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_FINDREMOVALS_H

#include "AnnotationChange.h"
#include "SentFacts.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal {

/// What to say of what is sent.
struct Removals {
  /// Of a reshard, by value and number of the version that it makes.
  llvm::DenseMap<std::pair<unsigned, unsigned>, std::string> ofReshards;
  /// Of what an op of the problem exchanges by itself.
  llvm::DenseMap<unsigned, std::string> ofOps;
};

/// A changed program as it is compiled.
struct Recompiled {
  AssignmentCost cost;
  /// What its plan sends.
  SentFacts sent;
  /// What is sent in the end, as the summary has it; nothing where nobody wants
  /// to know.
  std::optional<int64_t> bytes;
};

/// Compiles the program with a change; nothing where that cannot be. What is
/// sent in the end is counted where `isWanted` says so of what the plan sends.
using Recompile = llvm::function_ref<std::optional<Recompiled>(
    const AnnotationChange &,
    llvm::function_ref<bool(const SentFacts &)> isWanted)>;

/// Of each reshard that sends, and of each op that sends by itself, as a sum
/// over a split dimension, the one annotation that does away with it at the
/// least price of the whole plan, and what is sent then: a new annotation of a
/// value, or an annotation of the program that is left out. Where none was
/// found, a sentence that says so.
///
/// Where a value lies at the least price if it is not sent is what a search
/// finds that counts what is sent of it as dear (a min-marginal of the plans'
/// prices); annotations that lead there are tried from the plan as it is, and
/// the cheapest of those that do away with it are compiled. What is sent of
/// several values may have the same annotations in common: each is tried, and
/// compiled, once, and of all that were compiled the cheapest that does away
/// with it is told. For what sends least beyond the kMostExplained, nothing is
/// tried.
Removals findRemovals(const ExtractedProblem &extracted,
                      const Assignment &assignment,
                      const AssignmentOptions &options,
                      const ProblemNumbers &numbers, Recompile recompile);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_FINDREMOVALS_H

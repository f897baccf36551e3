// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Layers that repeat are searched once.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_FOLD_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_FOLD_H

#include "shoal/Sharding/Assignment.h"
#include <optional>

namespace shoal::assignment {

/// A problem without most of its layers.
struct FoldedProblem {
  AssignmentProblem problem;
  /// For each op of the whole problem the one of `problem` that is it or stands
  /// for it. Of those that are left out: in the layer before them, in the layer
  /// behind, or in the nearer one.
  std::vector<unsigned> before, behind, nearest;
};

/// Folds the layers of which most ops can be left out; nothing where fewer than
/// six of them repeat. A problem with layers of several kinds is folded once
/// for each. Work is linear in ops.
///
/// For example twelve layers, forward and backward, each reading weights and
/// the result of the layer before, on the way back that of the layer behind:
///
///   layers             0  1  2 ... 9  10 11
///   left in            0  1           10 11    10 reads 1 in 9's stead, and 1
///                                              on the way back 10 in 2's
std::optional<FoldedProblem> foldRepeats(const AssignmentProblem &problem);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_FOLD_H

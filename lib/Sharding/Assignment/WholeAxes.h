// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_WHOLEAXES_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_WHOLEAXES_H

#include "shoal/Sharding/Assignment.h"

namespace shoal::assignment {

/// A problem in which axes that are cut are whole: as many choices fewer as
/// there are ways to lay their parts apart.
struct WholeAxes {
  AssignmentProblem problem;
  /// Of each of its axes those of the given problem, major to minor.
  std::vector<AxisList> parts;

  /// A split by axes of `problem` as one by the given problem's.
  FactorSharding expand(const FactorSharding &choice) const;
};

/// Axes "x":(1)2 and "x":(2)8 of 16 devices become "x". Parts stay apart of
/// which an annotation, a region for one device or its edge names one without
/// the others behind it. Nothing where no axis is cut, or none can be whole.
std::optional<WholeAxes> mergeSubAxes(const AssignmentProblem &given);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_WHOLEAXES_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which annotations a program would be better without.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_LINTANNOTATIONS_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_LINTANNOTATIONS_H

#include "Extract.h"

namespace shoal {

/// Warnings, dearest first: annotations without which the plan would cost at
/// least a hundredth less, with what is sent then and, where one is as good,
/// another annotation to write in its place; annotations inside the program
/// without which the plan is the same; axes of the mesh that split nothing.
///
/// What an annotation costs is found by searching without it, so only those
/// that have to do with what is sent are tried, the most bytes first, and no
/// more than kMostTried of them.
void lintAnnotations(const ExtractedProblem &extracted,
                     const Assignment &assignment, AssignmentOptions options);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_LINTANNOTATIONS_H

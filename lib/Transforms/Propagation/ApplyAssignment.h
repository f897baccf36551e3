// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes shardings that were chosen into the program.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_APPLYASSIGNMENT_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_APPLYASSIGNMENT_H

#include "FindRemovals.h"

namespace shoal {

/// Writes the shardings of all values, inserts reshards where ops need others,
/// and leaves at both what does away with what is sent.
void applyAssignment(const ExtractedProblem &extracted,
                     const Assignment &assignment,
                     const Removals &removals = Removals());

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_APPLYASSIGNMENT_H

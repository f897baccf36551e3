// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Propagation: from annotations to a hint for every value, with its origin.
// Obeyed literally it would force moves that no one asked for; the assignment
// starts from it and then goes by cost.

#ifndef SHOAL_SHARDING_PROPAGATION_H
#define SHOAL_SHARDING_PROPAGATION_H

#include "shoal/Sharding/Assignment.h"

namespace shoal {

/// Spreads the constraints' axes over the program, both ways, to a fixpoint:
/// priorities of the user in ascending order, in each the classes of ops in
/// the order of AssignmentProblem::Priority. An op suggests for an axis the
/// factor that most of its known values split, the first operand's on a tie;
/// what is known is never overwritten. GSPMD section 3.5.
Hints propagateHints(const AssignmentProblem &problem);

} // namespace shoal

#endif // SHOAL_SHARDING_PROPAGATION_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What can be said of a problem without prices.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_VALUEOPS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_VALUEOPS_H

#include "shoal/Sharding/Assignment.h"
#include <optional>

namespace shoal::assignment {

/// Which op makes each value, and which read it.
struct ValueOps {
  explicit ValueOps(const AssignmentProblem &problem);

  std::vector<unsigned> makerOf;
  std::vector<llvm::SmallVector<unsigned, 4>> usersOf;
};

/// Elements of a value.
int64_t numElements(const AssignmentProblem &problem, unsigned value);

/// A set in which the op is linear and that has the value wherever the op reads
/// it; nothing where the op needs it whole.
std::optional<unsigned> findLinearSet(const AssignmentProblem::Op &op,
                                      unsigned value);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_VALUEOPS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that are new in a program whose plan is known.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_COPIED_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_COPIED_H

#include "Plan.h"

namespace shoal::assignment {

/// Of copies the last ones are made as their users need them, those that they
/// read so that these can be, and so on: a whole chain of them, where that
/// costs less.
///
///   %mask = arith.uitofp %pred      made [{"x"}, {}], needed [{}, {"x"}]
///
/// becomes [{}, {"x"}], and so does the copy that makes %pred.
void makeAsNeeded(Plan &plan, llvm::ArrayRef<unsigned> copies);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_COPIED_H

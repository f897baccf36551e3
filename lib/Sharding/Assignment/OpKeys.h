// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What makes two ops of a problem, or two values, alike, as keys of maps.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_OPKEYS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_OPKEYS_H

#include "shoal/Sharding/Assignment.h"
#include <string>

namespace shoal::assignment {

/// Of each value a number: values of equal numbers have equal types and
/// weights, so that their reshards cost the same.
std::vector<unsigned> findValueClasses(const AssignmentProblem &problem);
/// All that what a reshard of the value sends depends on, in elements.
void addShape(const AssignmentProblem::Value &value, std::string &key);

/// All that an op's choices and their prices depend on but its annotation:
/// rule, weight and the classes of its values.
void addOpKey(const AssignmentProblem::Op &op,
              llvm::ArrayRef<unsigned> valueClasses, std::string &key);

/// All that an op's annotation says, with the edge of a region that it may be;
/// of an op without one, that it has none.
void addAnnotationKey(const AssignmentProblem::Op &op, std::string &key);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_OPKEYS_H

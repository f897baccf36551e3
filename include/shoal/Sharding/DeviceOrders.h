// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Over which of several orders of the devices each op runs.

#ifndef SHOAL_SHARDING_DEVICEORDERS_H
#define SHOAL_SHARDING_DEVICEORDERS_H

#include "shoal/Sharding/Assignment.h"

namespace shoal {

/// Annotations say over which of AssignmentProblem::deviceOrders they are, and
/// ops between them, whose Op::deviceOrder this sets, follow their data: first
/// the largest operand, then, last op first, wherever the fewest bytes of
/// values, as whole ones, change their order beside the op. So a value changes
/// it where an annotation asks for that or where it meets a larger one, and
/// what is made of less is made behind the change. With one order nothing is
/// done.
void chooseDeviceOrders(AssignmentProblem &problem);

} // namespace shoal

#endif // SHOAL_SHARDING_DEVICEORDERS_H

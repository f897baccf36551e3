// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What policies save, by the names and boundaries in the program.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_POLICIES_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_POLICIES_H

#include "Extract.h"

namespace shoal::remat {

/// Says of the ops of the graph that a policy does not save that they must be
/// repeated: of those between two `shoal.remat_boundary` the first one's,
/// which also make a segment, of all others `policy`. Of boundaries in one
/// another the inner one counts. What they let be sent again may be repeated.
void applyPolicies(ExtractedStep &step, const RematerializePolicy &policy);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_POLICIES_H

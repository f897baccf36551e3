// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rewrite that a choice asks for.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_APPLY_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_APPLY_H

#include "Choose.h"
#include "Extract.h"

namespace shoal::remat {

/// Writes the schedule's repeats into the program. Neighbouring ones read what
/// was saved through one shoal.optimization_barrier in front of them: what is
/// computed again is not merged with what was computed first. Views of what was
/// saved are made behind it, and so is what backward ops read of it in a wider
/// type, so that it is held in the narrow one. Ops that nobody reads any more
/// are erased.
void applySchedule(ExtractedStep &step, const Schedule &schedule);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_APPLY_H

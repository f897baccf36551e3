// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How messages speak of annotations, and of what plans cost.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_ANNOTATIONTEXT_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_ANNOTATIONTEXT_H

#include "Extract.h"

namespace shoal {

/// Whether somebody wrote how the op's value lies, and it binds: of an
/// argument, of a program result, or inside.
bool isWritten(const AssignmentProblem &problem, unsigned op);
/// So of what is no program result: how that lies is its reader's to say.
bool isAnnotation(const AssignmentProblem &problem, unsigned op);

/// `<@mesh, [{"x"}, {}]>`, as it would be written of that value.
std::string textOf(const ExtractedProblem &extracted, const Sharding &sharding,
                   unsigned deviceOrder, unsigned value);

/// `<@mesh, [{"x"}, {}]> of argument 0 "w" at moe.mlir:12:8`, of an op that is
/// written.
std::string describeAnnotation(const ExtractedProblem &extracted, unsigned op);

/// `annotation <@mesh, [{"x"}, {}]> of argument 0 "w"`.
std::string nameOfAnnotation(const ExtractedProblem &extracted, unsigned op);

/// The sharding that a constraint asks for, but for what it leaves open.
Sharding shardingOf(const ShardingConstraint &constraint);

/// `1,024, at 12% of the plan's price`: what a device sends, and the
/// price beside that of `whole`; with a machine, `1,024, in 71 us, at 12% of
/// the plan's time`.
std::string describeCost(double bytes, const AssignmentCost &cost,
                         const AssignmentCost &whole,
                         const AssignmentOptions &options);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_ANNOTATIONTEXT_H

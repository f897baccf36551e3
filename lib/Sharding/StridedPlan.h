// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plans of sums whose blocks are strided on the way.

#ifndef SHOAL_LIB_SHARDING_STRIDEDPLAN_H
#define SHOAL_LIB_SHARDING_STRIDEDPLAN_H

#include "StepCost.h"
#include <optional>

namespace shoal {

/// Plans `source`, which is partial, -> `target` by standard collectives at the
/// least bytes, in one device order.
///
/// An axis may split the rows of a dimension behind one that comes to split it
/// later: each device then has every p-th block of rows. That is a plain block
/// of the tensor in a shape where the dimension is cut into digits, one for
/// each axis and one for the rest, so the steps are those of that shape:
///
///   tensor<24x48> <[{}, {}], partial = {"y"}> -> <[{"y", "x"}, {}]>
///     reshape         tensor<2x12x48> <[{}, {}, {}], partial = {"y"}>
///     slice           tensor<2x12x48> <[{}, {"x"}, {}], partial = {"y"}>
///     reduce_scatter  tensor<2x12x48> <[{"y"}, {"x"}, {}]>
///     reshape         tensor<24x48> <[{"y", "x"}, {}]>
///
/// In order, each only where needed: slice all axes that are idle in the source
/// (those that the target does not use only where they carry a share of what
/// follows), reduce_scatter, all_reduce over what finds no room, one
/// all_to_all, one all_gather. Each axis of the target goes straight to its
/// place there.
///
/// Nothing where a dimension has different axes at one place in both shardings,
/// as no place is free then, or where a dimension that changes has uneven
/// blocks.
std::optional<ReshardPlan> planStrided(const ReshardProblem &problem,
                                       const Sharding &source,
                                       const Sharding &target);

} // namespace shoal

#endif // SHOAL_LIB_SHARDING_STRIDEDPLAN_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A problem as JSON.

#ifndef SHOAL_TEST_SEARCHPROBLEM_WRITER_H
#define SHOAL_TEST_SEARCHPROBLEM_WRITER_H

#include "Sharding/Assignment/CostTables.h"
#include "llvm/Support/JSON.h"

namespace shoal {

/// Attributes of an object that is open:
///
///   "layouts"  texts of shardings, by number
///   "kinds"    of ops; of each its choices, those that its rule allows:
///              [cost, bytes held, [layout of each operand], [of each result]]
///   "ops"      {"kind", "operands", "results", "what"}: numbers of values
///   "prices"   [from, to, price] of each reshard that values of a class may
///              need, where it exists and is not free of charge by being none
///   "values"   of each the number of its class in "prices"
///   "chosen"   of each op the number of the plan's choice in its kind, where
///              there is a plan
///
/// A value is made in a layout, by one op, and each distinct other layout that
/// an op needs is made once, from any that is there: the least sum of prices.
/// What a plan costs is that of all values and of the choices of all ops.
///
/// `tables` count held bytes at kHeldWeight, costs are without.
void writeProblem(assignment::CostTables &tables, const Assignment *plan,
                  llvm::json::OStream &json);

inline constexpr double kHeldWeight = 1e-6;

} // namespace shoal

#endif // SHOAL_TEST_SEARCHPROBLEM_WRITER_H

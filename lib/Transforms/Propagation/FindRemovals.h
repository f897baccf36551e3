// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which annotation would do away with what is sent.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_FINDREMOVALS_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_FINDREMOVALS_H

#include "Extract.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal {

/// By value and number of its version, what to say of the reshard that makes
/// it.
using Removals = llvm::DenseMap<std::pair<unsigned, unsigned>, std::string>;

/// Of each reshard that sends, the one annotation that does away with it at the
/// least price of the whole plan, and what is sent then: a new annotation of a
/// value, or an annotation of the program that is left out. "no single
/// annotation does away with it" where none was found.
///
/// Where a value lies at the least price if it is not resharded is what a
/// search finds that counts the value's reshards as dear (a min-marginal of the
/// plans' prices); annotations that lead there are tried one by one, each by a
/// search of the whole program. Only the kMostExplained reshards that send most
/// are looked at; the others say nothing. Values of regions for one device have
/// no annotations, and are left out.
Removals findRemovals(const ExtractedProblem &extracted,
                      const Assignment &assignment, AssignmentOptions options);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_FINDREMOVALS_H

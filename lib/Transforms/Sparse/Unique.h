// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Proof that rows go to places that differ.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_UNIQUE_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_UNIQUE_H

#include "Forms.h"

namespace shoal::sparse {

/// Whether no two rows of different `token` have the same places in range of
/// `dims`: one
/// of these counts the tokens that have the same others. It is a running sum
/// along the tokens, read at the others, of numbers that are positive where
/// these say; what is added to it depends on the others alone. Slots of experts
/// are of that kind, as
///
///   slot[s] = sum over tokens before s of (expert[.] == expert[s]) +
///   first[expert[s]]
bool areUnique(Forms &forms, TermRange dims, TermRange places, Term token);

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_UNIQUE_H

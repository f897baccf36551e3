// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Terms that differ by their number alone are one term of an index.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_STACK_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_STACK_H

#include "Terms.h"

namespace shoal::sparse {

/// The term that is the i-th of `list` where `index` is i; null where there is
/// none. What is equal in all stays, and integers that step evenly are sums of
/// the index: of p[s, 0], p[s, 1], p[s, 2] it is p[s, index].
Term stack(Terms &terms, TermRange list, Term index);

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_STACK_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which elements of one tensor loops come to, for numbers that a user may have
// made as large as they like: what an integer cannot hold is its largest value.

#ifndef SHOAL_LIB_PRODUCTS_WALKS_H
#define SHOAL_LIB_PRODUCTS_WALKS_H

#include "shoal/Products/Loops.h"

namespace shoal::products {

/// A loop of at least 1 step over one tensor; its stride is at least 0.
struct Walk {
  int64_t size, stride;
};
using Walks = std::vector<Walk>;

/// Adds the loops' way through tensor number `which`.
template <size_t N>
void append(Walks &walks, const Loops<N> &loops, size_t which) {
  for (const Loop<N> &loop : loops)
    walks.push_back({loop.size, loop.strides[which]});
}

/// The largest element that they come to.
int64_t lastOf(const Walks &walks);

/// How often the innermost body runs.
int64_t countOf(const Walks &walks);

/// Whether they come to each of so many elements once.
bool covers(Walks walks, int64_t elements);

} // namespace shoal::products

#endif // SHOAL_LIB_PRODUCTS_WALKS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Walks.h"

namespace shoal::products {

static int64_t addSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t multiplySaturated(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t lastOf(const Walks &walks) {
  int64_t last = 0;
  for (const Walk &walk : walks)
    last = addSaturated(last, multiplySaturated(walk.size - 1, walk.stride));
  return last;
}

int64_t countOf(const Walks &walks) {
  int64_t count = 1;
  for (const Walk &walk : walks)
    count = multiplySaturated(count, walk.size);
  return count;
}

bool covers(Walks walks, int64_t elements) {
  std::erase_if(walks, [](const Walk &walk) { return walk.size == 1; });
  std::sort(walks.begin(), walks.end(),
            [](const Walk &a, const Walk &b) { return a.stride < b.stride; });
  int64_t dense = 1;
  for (const Walk &walk : walks) {
    if (walk.stride != dense)
      return false;
    dense = multiplySaturated(dense, walk.size);
  }
  return dense == elements;
}

} // namespace shoal::products

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_MACHINE_PRODUCTSHAPE_H
#define SHOAL_MACHINE_PRODUCTSHAPE_H

#include <cstdint>

namespace shoal {

/// Operands and results of a product: batch times m x k by k x n.
struct ProductShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  /// The batch is groups of m rows, as many as are counted at run time.
  bool hasGroups = false;
};

} // namespace shoal

#endif // SHOAL_MACHINE_PRODUCTSHAPE_H

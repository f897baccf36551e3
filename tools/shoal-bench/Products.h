// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products by size, single ones and those of groups of rows.

#ifndef SHOAL_BENCH_PRODUCTS_H
#define SHOAL_BENCH_PRODUCTS_H

#include "Calls.h"
#include "Stopwatch.h"
#include "shoal/Machine/StepTime.h"
#include "llvm/Support/raw_ostream.h"

namespace shoal::bench {

class Products {
public:
  Products(Stopwatch &stopwatch, const Memory &memory);

  /// Rates and the curve by which the prices of what was measured are nearest
  /// to it. The chip's memory and kernels are known.
  void fit(Chip &chip) const;

  /// A line for each product: what was measured, and its price.
  void print(const Chip &chip, llvm::raw_ostream &os) const;

  struct Point {
    const char *type;
    ProductShape shape;
    int64_t bytes;
    const Experiment *experiment;
  };

private:
  void add(Stopwatch &stopwatch, const Memory &memory, calls::ElementType type,
           const char *name, ProductShape shape);
  void addGroups(Stopwatch &stopwatch, const Memory &memory,
                 ProductShape shape);

  std::vector<Point> points;
};

} // namespace shoal::bench

#endif // SHOAL_BENCH_PRODUCTS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plans beside the cheapest sequence of standard collectives.

#include "Census.h"
#include "Oracle.h"
#include "ProgramBuilder.h"
#include "shoal/Sharding/ReshardCost.h"
#include <gtest/gtest.h>

using namespace shoal;
using namespace shoal::testing;

namespace {

struct Count {
  int pairs = 0, cheaper = 0, dearer = 0, atBound = 0;
  double planned = 0, standard = 0;
};

void print(llvm::ArrayRef<int64_t> shape, const Mesh &mesh, const Count &c) {
  printf("%-18s %5d pairs: plans send less than standard collectives on %4d, "
         "more on %d: %.3f of their bytes\n",
         describe(shape, mesh).c_str(), c.pairs, c.cheaper, c.dearer,
         c.planned / c.standard);
}

Count compare(llvm::ArrayRef<int64_t> shape, const Mesh &mesh, bool maySum,
              llvm::ArrayRef<std::pair<Sharding, Sharding>> pairs) {
  Oracle oracle(shape, mesh, maySum);
  Count count;
  for (const auto &[from, to] : pairs) {
    double planned = plannedBytes(shape, 4, from, to, mesh);
    double standard = 4.0 * oracle.cheapest(from, to);
    EXPECT_LE(planned, maySum ? 2 * standard : standard)
        << toString(from, mesh) << " -> " << toString(to, mesh);
    ++count.pairs;
    count.cheaper += planned < standard;
    count.dearer += planned > standard;
    if (!maySum) {
      double bound = lackingBytes(mesh, shape, from, to);
      EXPECT_GE(standard, bound) << "nothing sends less than the bound";
      count.atBound += standard == bound;
    }
    count.planned += planned;
    count.standard += standard;
  }
  print(shape, mesh, count);
  return count;
}

TEST(ReshardOracle, NoStandardPlanIsCheaper) {
  int pairs = 0, atBound = 0;
  for (const auto &[shape, mesh, most] : evenCensus()) {
    Count count =
        compare(shape, mesh, /*maySum=*/false,
                drawPairs(allShardings(mesh, shape.size()), {}, most));
    pairs += count.pairs;
    atBound += count.atBound;
  }
  // The oracle is no straw man: it meets the bound on most pairs.
  EXPECT_GE(atBound, pairs * 4 / 5);
}

// The oracle may slice in front of an axis that is reduced later, which leaves
// strided blocks; plans have none.
TEST(ReshardOracle, PlansOfSumsAreWithinThreePercent) {
  for (const auto &[shape, mesh, most] : evenCensus()) {
    if (shape.size() != 2)
      continue;
    Count count = compare(shape, mesh, /*maySum=*/true,
                          drawPairs(allPartialShardings(mesh, shape.size()),
                                    allShardings(mesh, shape.size()), most));
    EXPECT_LE(count.planned, 1.03 * count.standard);
  }
}

} // namespace

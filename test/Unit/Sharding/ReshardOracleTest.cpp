// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plans beside the cheapest sequence of collectives.

#include "Census.h"
#include "Oracle.h"
#include "ProgramBuilder.h"
#include "shoal/Sharding/ReshardCost.h"
#include "shoal/Sharding/ReshardPlan.h"
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

Count compare(llvm::ArrayRef<int64_t> shape, const Mesh &mesh,
              llvm::ArrayRef<std::pair<Sharding, Sharding>> pairs) {
  Oracle oracle(shape, mesh, /*maySum=*/false, Oracle::Moves::Standard);
  Count count;
  for (const auto &[from, to] : pairs) {
    double planned = plannedBytes(shape, 4, from, to, mesh);
    double standard = 4.0 * oracle.cheapest(from, to);
    EXPECT_LE(planned, standard)
        << toString(from, mesh) << " -> " << toString(to, mesh);
    ++count.pairs;
    count.cheaper += planned < standard;
    count.dearer += planned > standard;
    double bound = lackingBytes(mesh, shape, from, to);
    EXPECT_GE(standard, bound) << "nothing sends less than the bound";
    count.atBound += standard == bound;
    count.planned += planned;
    count.standard += standard;
  }
  print(shape, mesh, count);
  return count;
}

TEST(ReshardOracle, NoStandardPlanIsCheaper) {
  int pairs = 0, atBound = 0;
  for (const auto &[shape, mesh, most] : evenCensus()) {
    Count count = compare(
        shape, mesh, drawPairs(allShardings(mesh, shape.size()), {}, most));
    pairs += count.pairs;
    atBound += count.atBound;
  }
  // The oracle is no straw man: it meets the bound on most pairs.
  EXPECT_GE(atBound, pairs * 4 / 5);
}

// Strided blocks, exchanges and reductions in any order: none sends less.
TEST(ReshardOracle, NoPlanOfSumsIsCheaper) {
  int pairs = 0, strided = 0;
  for (const auto &[shape, mesh, most] : evenCensus()) {
    Oracle oracle(shape, mesh, /*maySum=*/true, Oracle::Moves::All);
    for (const auto &[from, to] :
         drawPairs(allPartialShardings(mesh, shape.size()),
                   allShardings(mesh, shape.size()), most)) {
      EXPECT_EQ(plannedBytes(shape, 4, from, to, mesh),
                4 * oracle.cheapest(from, to))
          << toString(from, mesh) << " -> " << toString(to, mesh);
      int64_t limit = std::max(localBytes(shape, 4, from, mesh),
                               localBytes(shape, 4, to, mesh));
      bool isStrided = false;
      for (const PlannedStep &step : planReshard(shape, from, to, mesh)) {
        isStrided |= step.step == StepKind::Reshape;
        EXPECT_LE(localBytes(step.shapeOr(shape), 4, step.result, mesh), limit);
      }
      ++pairs;
      strided += isStrided;
    }
  }
  printf("%d pairs of sums, %d by strided blocks\n", pairs, strided);
  EXPECT_EQ(pairs, 3032);
  EXPECT_GE(strided, 370);
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conversion/Kernels/KernelTiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace shoal;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

constexpr double mebibyte = 1 << 20;

TEST(KernelTiles, small_kernels_stay_whole) {
  EXPECT_THAT(chooseKernelTiles({{1000, true}, {50, true}}, 200e3), IsEmpty());
  EXPECT_THAT(chooseKernelTiles({}, mebibyte), IsEmpty());
}

TEST(KernelTiles, outer_loops_come_first) {
  // 1 MiB is 32 tiles.
  EXPECT_THAT(chooseKernelTiles({{512, true}, {512, true}}, mebibyte),
              ElementsAre(16, 0));
  EXPECT_THAT(
      chooseKernelTiles({{4, true}, {64, true}, {1024, true}}, mebibyte),
      ElementsAre(1, 8, 0));
}

TEST(KernelTiles, reductions_are_not_cut) {
  EXPECT_THAT(chooseKernelTiles({{512, false}, {4096, true}}, 8 * mebibyte),
              ElementsAre(0, 512));
  EXPECT_THAT(chooseKernelTiles({{512, true}, {4096, false}}, mebibyte),
              ElementsAre(16, 0));
  EXPECT_THAT(chooseKernelTiles({{512, false}, {64, true}}, mebibyte),
              IsEmpty());
}

TEST(KernelTiles, tiles_are_alike_where_sizes_allow) {
  // 1000 / 32 is 31.25: 40 divides it.
  EXPECT_THAT(chooseKernelTiles({{1000, true}, {256, true}}, mebibyte),
              ElementsAre(40, 0));
  // A prime: the last tile is smaller.
  EXPECT_THAT(chooseKernelTiles({{997, true}, {256, true}}, mebibyte),
              ElementsAre(32, 0));
}

TEST(KernelTiles, the_innermost_loop_is_cut_at_cache_lines) {
  auto tiles = chooseKernelTiles({{999999, true}}, 8 * mebibyte);
  ASSERT_EQ(tiles.size(), 1);
  EXPECT_EQ(tiles[0] % 64, 0);
  EXPECT_GE(tiles[0], 512);
}

TEST(KernelTiles, what_is_read_in_squares_has_whole_ones) {
  EXPECT_THAT(
      chooseKernelTiles({{4096, true, 32}, {1024, true, 32}}, 32 * mebibyte),
      ElementsAre(32, 512));
  // 1000 has no divisor of such a kind, and 500 is too few for two tiles.
  EXPECT_THAT(
      chooseKernelTiles({{1000, true, 32}, {500, true, 32}}, 8 * mebibyte),
      IsEmpty());
}

TEST(KernelTiles, rows_of_several_ops_are_cut_to_fit_a_cache) {
  constexpr int64_t kMebibyte = 1 << 20;
  EXPECT_THAT(chooseRowTiles({4096}, 16 * kMebibyte, 32 * kMebibyte),
              ElementsAre(8));
  // The second loop where rows of the first one are too long.
  EXPECT_THAT(chooseRowTiles({4, 2048}, 16 * kMebibyte, 32 * kMebibyte),
              ElementsAre(1, 16));
  // Shared bytes that are in the caches anyway; no equal tiles; rows too long.
  EXPECT_THAT(chooseRowTiles({4096}, kMebibyte / 2, 32 * kMebibyte), IsEmpty());
  EXPECT_THAT(chooseRowTiles({4099}, 16 * kMebibyte, 32 * kMebibyte),
              IsEmpty());
  EXPECT_THAT(chooseRowTiles({4}, 16 * kMebibyte, 32 * kMebibyte), IsEmpty());
  EXPECT_THAT(chooseRowTiles({}, 16 * kMebibyte, 32 * kMebibyte), IsEmpty());
}

TEST(KernelTiles, there_are_not_more_than_enough) {
  for (double bytes : {1e6, 1e8, 1e12})
    for (int64_t rows : {7, 1009, 65536}) {
      llvm::SmallVector<KernelLoop> loops = {{rows, true}, {65536, true}};
      EXPECT_LE(countTiles(loops, chooseKernelTiles(loops, bytes)), 512);
    }
}

} // namespace

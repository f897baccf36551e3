// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/RowMap.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace shoal;

namespace {

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

RowMap randomMap(std::mt19937 &random) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  RowMap map;
  map.scale = pick(-3, 4);
  map.low = pick(-9, 9);
  map.high = map.low + pick(0, 6);
  map.divisor = pick(1, 5);
  return map;
}

/// The rows that row r reads: [first, last].
std::pair<int64_t, int64_t> readsOf(const RowMap &map, int64_t row) {
  return {floorDivide(map.scale * row + map.low, map.divisor),
          floorDivide(map.scale * row + map.high, map.divisor)};
}

TEST(RowWindow, HoldsAllThatTheBlockReadsAndIsTight) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    RowMap map = randomMap(random);
    int64_t block = 1 + trial % 5;
    RowWindow window = windowOf(map, block);
    int64_t longest = 0;
    for (int64_t device = 0; device < 24; ++device) {
      int64_t first = INT64_MAX, last = INT64_MIN;
      for (int64_t r = device * block; r < (device + 1) * block; ++r) {
        auto [a, b] = readsOf(map, r);
        first = std::min(first, a);
        last = std::max(last, b);
      }
      EXPECT_EQ(window.begin(device), first);
      EXPECT_LE(last, first + window.rows - 1);
      longest = std::max(longest, last - first + 1);
    }
    EXPECT_EQ(window.rows, longest);
  }
}

TEST(LackingRows, IsTheMaximumOverAllDevices) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 5000; ++trial) {
    int64_t shards = 1 + trial % 37, size = trial / 7 % 150;
    RowWindow window = windowOf(randomMap(random), 1 + trial % 11);
    int64_t most = 0;
    for (int64_t device = 0; device < shards; ++device) {
      RowRange own = shardRows(size, shards, device);
      int64_t lacking = 0;
      for (int64_t r = 0; r < window.rows; ++r) {
        int64_t row = window.begin(device) + r;
        lacking +=
            row >= 0 && row < size && (row < own.begin || row >= own.end);
      }
      most = std::max(most, lacking);
    }
    EXPECT_EQ(lackingRows(window, size, shards), most)
        << "step " << window.step << " offset " << window.offset << " divisor "
        << window.divisor << " rows " << window.rows << " of " << size
        << " over " << shards;
  }
}

TEST(LackingRows, SameConvolutionNeedsOneRowOfEachNeighbour) {
  // 16 rows on 4 devices, three taps, padded by one row on both sides.
  RowWindow window = windowOf({1, -1, 1, 1}, 4);
  EXPECT_EQ(window, (RowWindow{4, -1, 1, 6}));
  EXPECT_EQ(lackingRows(window, 16, 4), 2);
  EXPECT_TRUE(seesOutside(window, 16, 4));
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Sharding.h"
#include <gtest/gtest.h>
#include <limits>

using namespace shoal;

namespace {

TEST(Mesh, PositionsAreRowMajor) {
  Mesh mesh{"m", {{"x", 1, 2, 2}, {"y", 1, 3, 3}}, {}};
  EXPECT_EQ(mesh.numDevices(), 6);
  EXPECT_EQ(mesh.coordinates(5), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(mesh.indexOver({0, 1}, mesh.coordinates(4)), 4);
  EXPECT_EQ(mesh.indexOver({1, 0}, mesh.coordinates(4)), 3);
}

TEST(Mesh, DeviceOrderRenamesPositions) {
  Mesh mesh{"m", {{"x", 1, 4, 4}}, {3, 1, 0, 2}};
  EXPECT_EQ(mesh.deviceAt(0), 3);
  EXPECT_EQ(mesh.positionOf(3), 0);
  for (int64_t p = 0; p < 4; ++p)
    EXPECT_EQ(mesh.positionOf(mesh.deviceAt(p)), p);
}

TEST(ShardRows, LastShardsMayBeShortOrEmpty) {
  EXPECT_EQ(shardRows(15, 2, 1), (RowRange{8, 15}));
  EXPECT_EQ(shardRows(5, 4, 2), (RowRange{4, 5}));
  EXPECT_EQ(shardRows(5, 4, 3), (RowRange{5, 5}));
  for (int64_t n = 0; n < 20; ++n)
    for (int64_t p = 1; p < 9; ++p) {
      int64_t sum = 0;
      for (int64_t i = 0; i < p; ++i)
        sum += shardRows(n, p, i).size();
      EXPECT_EQ(sum, n);
    }
}

TEST(Sharding, LocalShapeIsTheCeiling) {
  Mesh mesh{"m", {{"x", 1, 2, 2}, {"y", 1, 4, 4}}, {}};
  Sharding sharding;
  sharding.dims = {{0, 1}, {}, {1}};
  sharding.dims[2].clear();
  EXPECT_EQ(localShape({15, 7, 3}, sharding, mesh),
            (llvm::SmallVector<int64_t>{2, 7, 3}));
  EXPECT_EQ(localBytes({15, 7, 3}, 4, sharding, mesh), 2 * 7 * 3 * 4);
  EXPECT_EQ(paddedRows({15, 7, 3}, 0, sharding, mesh), 1);
  EXPECT_EQ(paddedRows({15, 7, 3}, 1, sharding, mesh), 0);
}

TEST(Sharding, BytesOfHugeShardsEndAtTheLargestNumber) {
  Mesh mesh{"m", {{"x", 1, 2, 2}}, {}};
  constexpr int64_t huge = int64_t(1) << 40;
  EXPECT_EQ(localBytes({huge, huge}, 4, Sharding::replicated(2), mesh),
            std::numeric_limits<int64_t>::max());
}

TEST(Sharding, PrintsSubAxesAndMergesNeighbours) {
  // An axis of size 8 cut into 2 x 4.
  Mesh mesh{"m", {{"x", 1, 2, 8}, {"x", 2, 4, 8}, {"y", 1, 2, 2}}, {}};
  Sharding sharding;
  sharding.dims = {{0, 1}, {2}};
  EXPECT_EQ(toString(sharding, mesh), R"(<@m, [{"x"}, {"y"}]>)");
  sharding.dims = {{1}, {}};
  sharding.partial = {2};
  EXPECT_EQ(toString(sharding, mesh),
            R"(<@m, [{"x":(2)4}, {}], partial = {"y"}>)");
}

} // namespace

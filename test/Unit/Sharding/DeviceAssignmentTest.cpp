// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/DeviceAssignment.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <random>

using namespace shoal;

namespace {

Mesh makeMesh(std::initializer_list<int64_t> sizes) {
  Mesh mesh;
  for (int64_t size : sizes)
    mesh.axes.push_back(
        {std::string(1, static_cast<char>('a' + mesh.axes.size())), 1, size,
         size});
  return mesh;
}

/// `a b:(1)2 | c` for two dimensions.
std::string
text(const std::optional<std::vector<std::vector<MeshAxis>>> &dims) {
  if (!dims)
    return "none";
  std::string result;
  for (const std::vector<MeshAxis> &axes : *dims) {
    if (&axes != &dims->front())
      result += " | ";
    for (const MeshAxis &axis : axes) {
      result += &axis == &axes.front() ? "" : " ";
      result += axis.name;
      if (!axis.isWhole())
        result +=
            ":(" + std::to_string(axis.pre) + ")" + std::to_string(axis.size);
    }
  }
  return result;
}

TEST(DeviceAssignment, FindsAxes) {
  Mesh mesh = makeMesh({2, 4});
  EXPECT_EQ(text(axesOfAssignment({8, 1}, {0, 1, 2, 3, 4, 5, 6, 7}, mesh)),
            "a b | ");
  EXPECT_EQ(text(axesOfAssignment({8}, {0, 4, 1, 5, 2, 6, 3, 7}, mesh)), "b a");
  EXPECT_EQ(text(axesOfAssignment({4, 2}, {0, 4, 1, 5, 2, 6, 3, 7}, mesh)),
            "b | a");
  EXPECT_EQ(text(axesOfAssignment({2, 4}, {0, 2, 4, 6, 1, 3, 5, 7}, mesh)),
            "b:(2)2 | a b:(1)2");
}

TEST(DeviceAssignment, RefusesWhatIsNoTiling) {
  Mesh mesh = makeMesh({2, 4});
  EXPECT_EQ(text(axesOfAssignment({8}, {1, 0, 2, 3, 4, 5, 6, 7}, mesh)),
            "none");
  EXPECT_EQ(text(axesOfAssignment({8}, {7, 6, 5, 4, 3, 2, 1, 0}, mesh)),
            "none");
  EXPECT_EQ(text(axesOfAssignment({8}, {0, 1, 2, 3, 4, 5, 7, 6}, mesh)),
            "none");
}

TEST(DeviceAssignment, RespectsTheMeshsOwnOrder) {
  Mesh mesh = makeMesh({4});
  mesh.deviceIds = {3, 1, 0, 2};
  EXPECT_EQ(text(axesOfAssignment({4}, {3, 1, 0, 2}, mesh)), "a");
  EXPECT_EQ(text(axesOfAssignment({4}, {0, 1, 2, 3}, mesh)), "none");
}

TEST(DeviceAssignment, InOrderCutsAxes) {
  EXPECT_EQ(text(axesInOrder({4, 2}, makeMesh({2, 4}))), "a b:(1)2 | b:(2)2");
  EXPECT_EQ(text(axesInOrder({2, 3}, makeMesh({3, 2}))), "none");
}

/// The inverse property: build an assignment from axes, find the axes again.
TEST(DeviceAssignment, InvertsTilings) {
  Mesh mesh = makeMesh({2, 3, 4});
  llvm::SmallVector<AxisId> order{0, 1, 2};
  do {
    // Dimension 0 over the first two axes of `order`, dimension 1 the third.
    llvm::SmallVector<int64_t> devices;
    int64_t n0 = mesh.sizeOf({order[0], order[1]}),
            n1 = mesh.sizeOf({order[2]});
    devices.resize(n0 * n1);
    for (int64_t p = 0; p < 24; ++p) {
      auto at = mesh.coordinates(p);
      devices[mesh.indexOver(order, at)] = p;
    }
    auto found = axesOfAssignment({n0, n1}, devices, mesh);
    ASSERT_TRUE(found);
    std::string expected;
    expected += mesh.axes[order[0]].name + " " + mesh.axes[order[1]].name +
                " | " + mesh.axes[order[2]].name;
    EXPECT_EQ(text(found), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

} // namespace

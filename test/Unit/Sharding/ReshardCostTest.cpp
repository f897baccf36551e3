// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardCost.h"
#include "Census.h"
#include "ProgramBuilder.h"
#include "shoal/Sharding/ExchangeCost.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace shoal;
using namespace shoal::testing;

namespace {

using Shape = llvm::SmallVector<int64_t>;

Mesh mesh2x2() { return makeMesh({{"x", 2}, {"y", 2}}); }
Mesh mesh2x4() { return makeMesh({{"x", 2}, {"y", 4}}); }
Mesh mesh2x2x2() { return makeMesh({{"x", 2}, {"y", 2}, {"z", 2}}); }
constexpr AxisId x = 0, y = 1, z = 2;

Sharding split(std::initializer_list<AxisList> dims, AxisList partial = {}) {
  Sharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  sharding.partial = std::move(partial);
  return sharding;
}

double bytes(const Mesh &mesh, Shape shape, const Sharding &from,
             const Sharding &to) {
  return reshardBytes(shape, 4, from, to, mesh);
}

TEST(ReshardCost, StandardCollectives) {
  Mesh mesh = mesh2x4();
  Shape shape = {24, 48};
  EXPECT_EQ(bytes(mesh, shape, split({{y}, {}}), split({{y}, {}})), 0);
  EXPECT_EQ(bytes(mesh, shape, split({{y}, {}}), split({{y, x}, {}})), 0)
      << "a slice";
  EXPECT_EQ(bytes(mesh, shape, split({{x}, {}}), split({{}, {}})), 2304)
      << "all_gather";
  EXPECT_EQ(bytes(mesh, shape, split({{y}, {}}), split({{}, {y}})), 864)
      << "all_to_all";
  EXPECT_EQ(bytes(mesh, shape, split({{x, y}, {}}), split({{y, x}, {}})), 576)
      << "collective_permute";
}

TEST(ReshardCost, SeveralSteps) {
  Mesh mesh = mesh2x4();
  Shape shape = {24, 48};
  EXPECT_EQ(bytes(mesh, shape, split({{y}, {}}), split({{x, y}, {}})), 576);
  EXPECT_EQ(bytes(mesh, shape, split({{x, y}, {}}), split({{y}, {}})), 1152);
  EXPECT_EQ(bytes(mesh, shape, split({{x, y}, {}}), split({{}, {x}})), 2016);
  EXPECT_EQ(bytes(mesh, shape, split({{x, y}, {}}), split({{y}, {x}})), 576);
  EXPECT_EQ(bytes(mesh, shape, split({{x}, {y}}), split({{y}, {x}})), 576);
  EXPECT_EQ(bytes(mesh2x2(), shape, split({{}, {x}}), split({{y}, {}})), 1152)
      << "slices before it gathers";
  EXPECT_EQ(bytes(mesh2x2(), shape, split({{x}, {}}), split({{y}, {}})), 2304);
}

TEST(ReshardCost, ThreeAxes) {
  Mesh mesh = mesh2x2x2();
  Shape shape = {8, 24, 16};
  EXPECT_EQ(
      bytes(mesh, shape, split({{x}, {y}, {z}}), split({{}, {}, {z, y, x}})),
      1152);
  EXPECT_EQ(
      bytes(mesh, shape, split({{}, {x, z, y}, {}}), split({{x}, {}, {y, z}})),
      1344);
  EXPECT_EQ(
      bytes(mesh, shape, split({{}, {x}, {z}}), split({{}, {}, {z, x, y}})),
      768);
  EXPECT_EQ(
      bytes(mesh, shape, split({{}, {y, x}, {z}}), split({{}, {}, {z, x}})),
      2304);
  EXPECT_EQ(
      bytes(mesh, shape, split({{x, z, y}, {}, {}}), split({{z}, {x}, {y}})),
      1536);
  EXPECT_EQ(bytes(mesh, {24, 48}, split({{y, z}, {x}}), split({{}, {y, z}})),
            1152);
}

TEST(ReshardCost, PartialSums) {
  Mesh mesh = mesh2x4();
  Shape shape = {24, 48};
  EXPECT_EQ(bytes(mesh, shape, split({{}, {}}, {y}), split({{}, {}})), 5760)
      << "the idle axis x carries half of the traffic";
  EXPECT_EQ(bytes(mesh, shape, split({{}, {}}, {y}), split({{x, y}, {}})),
            1728);
  EXPECT_EQ(bytes(mesh, shape, split({{}, {}}, {x}), split({{x}, {}})), 2304)
      << "reduce_scatter";
  EXPECT_EQ(bytes(mesh, shape, split({{y}, {}}, {x}), split({{y}, {}})), 1152)
      << "all_reduce";
  EXPECT_EQ(bytes(mesh, shape, split({{y}, {}}, {x}), split({{y}, {}}, {x})), 0)
      << "stays partial";
  EXPECT_EQ(bytes(mesh, shape, split({{}, {}}), split({{}, {}}, {x})), 0)
      << "all addends but one are zero";
  EXPECT_EQ(bytes(mesh, {}, split({}, {x, y}), split({})), 7)
      << "a scalar: all_reduce over 8";
}

TEST(ReshardCost, UnevenDimensions) {
  Mesh mesh = mesh2x4();
  EXPECT_EQ(bytes(mesh, {15, 14}, split({{}, {x}}), split({{}, {x, y}})), 60)
      << "a column from the neighbour: 7 + 7 become 2 + ... + 2";
  EXPECT_EQ(bytes(mesh, {15, 14}, split({{x}, {}}), split({{x, y}, {}})), 0)
      << "8 + 7 are four times 2 + 2";
  EXPECT_EQ(bytes(mesh, {3}, split({{}}), split({{y}})), 0);
  EXPECT_EQ(bytes(mesh, {0, 4}, split({{x}, {}}), split({{}, {x}})), 0);
}

TEST(ReshardCost, OtherDeviceOrder) {
  Mesh mesh = mesh2x4();
  auto cost = [&](const Sharding &from, const Sharding &to) {
    return reshardBytes({24, 48}, 4, from, to, mesh, /*otherDeviceOrder=*/true);
  };
  EXPECT_EQ(cost(split({{x}, {}}), split({{x}, {}})), 2304) << "the local size";
  EXPECT_EQ(cost(split({{}, {}}), split({{x}, {}})), 0) << "each has it all";
  EXPECT_EQ(cost(split({{x}, {}}), split({{}, {}})), 2304) << "gathers it all";
}

TEST(ReshardCost, EvenCaseIsWhatTheWorstDeviceLacks) {
  for (const Mesh &mesh : {mesh2x4(), mesh2x2x2()}) {
    Shape shape = {24, 48};
    std::vector<Sharding> all = allShardings(mesh);
    for (const Sharding &from : all)
      for (const Sharding &to : all)
        EXPECT_EQ(bytes(mesh, shape, from, to),
                  lackingBytes(mesh, shape, from, to))
            << toString(from, mesh) << " -> " << toString(to, mesh);
  }
}

TEST(ReshardCost, DoesNotDependOnHowAnAxisIsCut) {
  Mesh whole = makeMesh({{"x", 8}});
  Mesh cut{"mesh", {{"x", 1, 2, 8}, {"x", 2, 4, 8}}, {}};
  EXPECT_EQ(bytes(whole, {16, 8}, split({{0}, {}}), split({{}, {0}})),
            bytes(cut, {16, 8}, split({{0, 1}, {}}), split({{}, {0, 1}})));
  EXPECT_EQ(bytes(whole, {16, 8}, split({{}, {}}, {0}), split({{}, {}})),
            bytes(cut, {16, 8}, split({{}, {}}, {0, 1}), split({{}, {}})));
}

TEST(PlannedBytes, OfEachCollective) {
  Mesh mesh = mesh2x4();
  Mesh reversed = mesh;
  reversed.deviceIds = {7, 6, 5, 4, 3, 2, 1, 0};
  auto planned = [&](const Sharding &from, const Sharding &to,
                     const Mesh *target = nullptr) {
    return plannedBytes({24, 48}, 4, from, to, mesh, target);
  };
  EXPECT_EQ(planned(split({{y}, {}}), split({{y, x}, {}})), 0);
  EXPECT_EQ(planned(split({{x}, {}}), split({{}, {}})), 2304);
  EXPECT_EQ(planned(split({{y}, {}}), split({{}, {y}})), 864);
  EXPECT_EQ(planned(split({{x, y}, {}}), split({{y, x}, {}})), 576);
  EXPECT_EQ(planned(split({{}, {}}, {x}), split({{x}, {}})), 2304);
  EXPECT_EQ(planned(split({{y}, {}}, {x}), split({{y}, {}})), 1152);
  EXPECT_EQ(planned(split({{x}, {}}), split({{x}, {}}), &reversed), 2304);
}

TEST(ExchangedElements, DoNotDependOnHowTheOrderIsWritten) {
  for (const Mesh &mesh :
       {mesh2x4(), mesh2x2x2(), makeMesh({{"x", 3}, {"y", 2}, {"z", 2}})}) {
    Mesh listed = mesh;
    for (int64_t device = 0; device < mesh.numDevices(); ++device)
      listed.deviceIds.push_back(device);
    for (Shape shape : {Shape{15, 14}, Shape{24, 48}, Shape{3, 5}})
      for (const auto &[from, to] : drawPairs(allShardings(mesh), {}, 200))
        EXPECT_EQ(exchangedElements(shape, mesh.numDevices(),
                                    layoutOf(from, mesh), layoutOf(to, mesh)),
                  exchangedElements(shape, mesh.numDevices(),
                                    layoutOf(from, listed),
                                    layoutOf(to, listed)))
            << toString(from, mesh) << " -> " << toString(to, mesh);
  }
}

// Axes that are cut in two ways whose parts do not divide each other.
TEST(ExchangedElements, PositionsNeedNoCommonDigits) {
  BlockLayout source{{{{2, 3}}, {}}, {}}, target{{{{3, 2}}, {}}, {}};
  // Rows 0-3, 4-7, 8-11 on the positions 0 1, 2 3, 4 5; then 0-5 on 0 1 2, and
  // 6-11 on 3 4 5: position 2 has 4 5 and lacks 0-3.
  EXPECT_EQ(exchangedElements({12, 1}, 6, source, target), 4);
}

// As for 2 devices, but for what a device has already; not one after the other.
TEST(ExchangedElements, OfManyDevicesAreNotCounted) {
  Mesh mesh = makeMesh({{"x", int64_t(1) << 30}});
  EXPECT_EQ(exchangedElements({2, 3}, mesh.numDevices(),
                              layoutOf(split({{x}, {}}), mesh),
                              layoutOf(split({{}, {x}}), mesh)),
            3);
}

} // namespace

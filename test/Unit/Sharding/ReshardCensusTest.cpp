// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The plans between all shardings of small tensors: bytes against what the
// worst device lacks, memory, and each step replayed on the devices' elements.

#include "Census.h"
#include "ProgramBuilder.h"
#include "shoal/Sharding/ReshardCost.h"
#include "shoal/Sharding/ReshardPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <random>

using namespace shoal;
using namespace shoal::testing;

namespace {

constexpr AxisId x = 0, y = 1, z = 2;

Sharding split(std::initializer_list<AxisList> dims, AxisList partial = {}) {
  Sharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  sharding.partial = std::move(partial);
  return sharding;
}

std::string planText(llvm::ArrayRef<int64_t> shape, const Sharding &source,
                     const Sharding &target, const Mesh &mesh,
                     const Mesh *targetMesh = nullptr) {
  std::string text;
  for (const PlannedStep &step :
       planReshard(shape, source, target, mesh, targetMesh))
    text += (text.empty() ? "" : ", ") + nameOf(step.step).str();
  return text;
}

//===----------------------------------------------------------------------===//
// Census
//===----------------------------------------------------------------------===//

struct Census {
  int pairs = 0, above = 0, exchanges = 0;
  double bytes = 0, bound = 0;
};

/// Peak and end of the plan; every step but an exchange leaves each device with
/// rows that it or its group had.
void checkPlan(llvm::ArrayRef<int64_t> shape, const Sharding &from,
               const Sharding &to, const Mesh &mesh, Census &census) {
  int64_t limit = std::max(localBytes(shape, 4, from, mesh),
                           localBytes(shape, 4, to, mesh));
  Sharding at = from;
  for (const PlannedStep &step : planReshard(shape, from, to, mesh)) {
    census.exchanges += step.step == StepKind::Exchange;
    EXPECT_LE(localBytes(shape, 4, step.result, mesh), limit)
        << toString(from, mesh) << " -> " << toString(to, mesh);
    at = step.result;
  }
  EXPECT_EQ(at, to);
}

Census takeCensus(llvm::ArrayRef<int64_t> shape, const Mesh &mesh,
                  size_t most = 100000) {
  std::vector<Sharding> all = allShardings(mesh, shape.size());
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < all.size(); ++j)
      if (i != j)
        pairs.push_back({i, j});
  std::mt19937 random(1);
  std::shuffle(pairs.begin(), pairs.end(), random);
  pairs.resize(std::min(pairs.size(), most));
  Census census;
  for (auto [i, j] : pairs) {
    double bytes = plannedBytes(shape, 4, all[i], all[j], mesh);
    double bound = lackingBytes(mesh, shape, all[i], all[j]);
    // Where splits are even nothing is above the bound, and nothing below it
    // can be.
    EXPECT_GE(bytes, bound - 1e-6)
        << toString(all[i], mesh) << " -> " << toString(all[j], mesh);
    census.above += bytes > bound + 1e-6;
    ++census.pairs;
    census.bytes += bytes;
    census.bound += bound;
    checkPlan(shape, all[i], all[j], mesh, census);
  }
  return census;
}

std::vector<Mesh> meshes() {
  return {makeMesh({{"x", 2}, {"y", 2}}), makeMesh({{"x", 2}, {"y", 4}}),
          makeMesh({{"x", 2}, {"y", 2}, {"z", 2}})};
}

void print(llvm::ArrayRef<int64_t> shape, const Mesh &mesh, const Census &c) {
  std::string name;
  for (const MeshAxis &axis : mesh.axes)
    name += (name.empty() ? "" : "x") + std::to_string(axis.size);
  std::string sizes;
  for (int64_t size : shape)
    sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
  printf("%-6s %-8s %5d pairs, %4d exchanges, %4d above the bound, "
         "%9.0f bytes, bound %9.0f: %.4f\n",
         name.c_str(), sizes.c_str(), c.pairs, c.exchanges, c.above, c.bytes,
         c.bound, c.bytes / c.bound);
}

TEST(ReshardCensus, EvenPairsMeetTheBound) {
  for (const Mesh &mesh : meshes()) {
    int64_t shape[] = {24, 48};
    Census census = takeCensus(shape, mesh);
    print(shape, mesh, census);
    EXPECT_EQ(census.above, 0);
  }
  for (const Mesh &mesh : {makeMesh({{"x", 2}, {"y", 2}, {"z", 2}}),
                           makeMesh({{"x", 4}, {"y", 2}})}) {
    int64_t shape[] = {8, 24, 16};
    Census census = takeCensus(shape, mesh, 600);
    print(shape, mesh, census);
    EXPECT_EQ(census.above, 0);
  }
}

TEST(ReshardCensus, UnevenPairsAreWithinFivePercent) {
  for (const Mesh &mesh : meshes()) {
    int64_t shape[] = {15, 14};
    Census census = takeCensus(shape, mesh, 600);
    print(shape, mesh, census);
    EXPECT_LE(census.bytes, 1.05 * census.bound);
  }
}

TEST(ReshardCensus, MixedPrimesMeetTheBound) {
  for (const Mesh &mesh :
       {makeMesh({{"x", 2}, {"y", 3}}), makeMesh({{"x", 6}, {"y", 4}})}) {
    int64_t shape[] = {72, 144};
    Census census = takeCensus(shape, mesh);
    print(shape, mesh, census);
    EXPECT_LE(census.bytes, 1.001 * census.bound);
  }
}

//===----------------------------------------------------------------------===//
// Single plans
//===----------------------------------------------------------------------===//

struct Example {
  std::vector<int64_t> sizes;
  llvm::SmallVector<int64_t> shape;
  Sharding source, target;
  double bytes;
};

TEST(ReshardPlan, MovesWhatTheWorstDeviceLacks) {
  const Example examples[] = {
      {{2, 4}, {24, 48}, split({{y}, {}}), split({{y, x}, {}}), 0},
      {{2, 4}, {24, 48}, split({{y}, {}}), split({{x, y}, {}}), 576},
      {{2, 4}, {24, 48}, split({{x, y}, {}}), split({{y}, {}}), 1152},
      {{2, 4}, {24, 48}, split({{x, y}, {}}), split({{y, x}, {}}), 576},
      {{2, 4}, {24, 48}, split({{y}, {}}), split({{}, {y}}), 864},
      {{2, 4}, {24, 48}, split({{x, y}, {}}), split({{}, {x}}), 2016},
      {{2, 4}, {24, 48}, split({{x, y}, {}}), split({{y}, {x}}), 576},
      {{2, 4}, {24, 48}, split({{x}, {y}}), split({{y}, {x}}), 576},
      {{2, 2}, {24, 48}, split({{}, {x}}), split({{y}, {}}), 1152},
      {{2, 2}, {24, 48}, split({{x}, {}}), split({{y}, {}}), 2304},
      {{2, 2, 2},
       {8, 24, 16},
       split({{x}, {y}, {z}}),
       split({{}, {}, {z, y, x}}),
       1152},
      {{2, 2, 2},
       {8, 24, 16},
       split({{}, {x, z, y}, {}}),
       split({{x}, {}, {y, z}}),
       1344},
      {{2, 2, 2},
       {8, 24, 16},
       split({{}, {x}, {z}}),
       split({{}, {}, {z, x, y}}),
       768},
      {{2, 2, 2},
       {8, 24, 16},
       split({{}, {y, x}, {z}}),
       split({{}, {}, {z, x}}),
       2304},
      {{2, 2, 2},
       {8, 24, 16},
       split({{x, z, y}, {}, {}}),
       split({{z}, {x}, {y}}),
       1536},
      {{2, 2, 2}, {24, 48}, split({{y, z}, {x}}), split({{}, {y, z}}), 1152},
      {{2, 4}, {24, 48}, split({{}, {}}, {y}), split({{}, {}}), 5760},
      {{2, 4}, {24, 48}, split({{}, {}}, {y}), split({{x, y}, {}}), 1728},
      {{2, 4}, {15, 14}, split({{}, {x}}), split({{}, {x, y}}), 60},
  };
  for (const Example &e : examples) {
    Mesh mesh;
    mesh.name = "mesh";
    for (int64_t size : e.sizes)
      mesh.axes.push_back(
          {std::string(1, static_cast<char>('x' + mesh.axes.size())), 1, size,
           size});
    EXPECT_EQ(plannedBytes(e.shape, 4, e.source, e.target, mesh), e.bytes)
        << toString(e.source, mesh) << " -> " << toString(e.target, mesh);
  }
}

TEST(ReshardPlan, SumsAreScatteredBeforeTheyAreGathered) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 4}});
  int64_t shape[] = {24, 48};
  EXPECT_EQ(planText(shape, split({{}, {}}, {y}), split({{}, {}}), mesh),
            "slice, reduce_scatter, all_gather");
  // Over two devices idle axes save nothing.
  EXPECT_EQ(planText(shape, split({{}, {}}, {x}), split({{}, {}}), mesh),
            "all_reduce");
  EXPECT_EQ(planText(shape, split({{}, {x}}, {y}), split({{}, {x}}), mesh),
            "all_reduce");
  EXPECT_EQ(planText(shape, split({{}, {x}}, {y}), split({{y}, {x}}), mesh),
            "reduce_scatter");
}

TEST(ReshardPlan, OtherDeviceOrder) {
  Mesh mesh = makeMesh({{"x", 2}, {"y", 2}}), turned = mesh, swapped = mesh;
  turned.deviceIds = {3, 0, 1, 2};
  // Along "y" alone: what is split over "x" stays where it is.
  swapped.deviceIds = {1, 0, 3, 2};
  int64_t shape[] = {24, 48};
  auto text = [&](const Sharding &from, const Sharding &to, const Mesh &order) {
    return planText(shape, from, to, mesh, &order);
  };
  Sharding whole = split({{}, {}});
  EXPECT_EQ(text(whole, whole, turned), "relabel");
  EXPECT_EQ(text(whole, split({{x}, {}}), turned), "relabel, slice");
  EXPECT_EQ(text(split({{x}, {}}), whole, turned), "all_gather, relabel");
  EXPECT_EQ(text(split({{x}, {}}), split({{x}, {}}), swapped), "relabel");
  EXPECT_EQ(text(split({{x}, {}}), split({{x}, {}}), turned), "exchange");
  EXPECT_EQ(text(split({{x}, {}}), split({{}, {x, y}}), turned), "exchange");
  EXPECT_EQ(text(split({{x}, {}}, {y}), split({{x}, {}}, {y}), turned),
            "collective_permute");
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <random>

using namespace shoal;

namespace {

Mesh makeMesh(std::initializer_list<int64_t> sizes) {
  Mesh mesh;
  mesh.name = "mesh";
  for (int64_t size : sizes)
    mesh.axes.push_back(
        {std::string(1, static_cast<char>('x' + mesh.axes.size())), 1, size,
         size});
  return mesh;
}

Sharding make(std::initializer_list<AxisList> dims, AxisList partial = {}) {
  Sharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  sharding.partial = partial;
  return sharding;
}

constexpr AxisId x = 0, y = 1, z = 2;

std::string planText(llvm::ArrayRef<int64_t> shape, const Sharding &source,
                     const Sharding &target, const Mesh &mesh) {
  std::string text;
  for (const PlannedStep &step : planReshard(shape, source, target, mesh))
    text += (text.empty() ? "" : ", ") + nameOf(step.step).str();
  return text;
}

TEST(ReshardPlan, EqualShardingsNeedNothing) {
  Mesh mesh = makeMesh({2, 4});
  EXPECT_EQ(planText({24, 48}, make({{x}, {}}), make({{x}, {}}), mesh), "");
}

TEST(ReshardPlan, NamesTheCollectives) {
  Mesh mesh = makeMesh({2, 4});
  llvm::SmallVector<int64_t> shape{24, 48};
  auto text = [&](Sharding source, Sharding target) {
    return planText(shape, source, target, mesh);
  };
  EXPECT_EQ(text(make({{y}, {}}), make({{y, x}, {}})), "slice");
  EXPECT_EQ(text(make({{y}, {}}), make({{x, y}, {}})),
            "slice, collective_permute");
  EXPECT_EQ(text(make({{x, y}, {}}), make({{y}, {}})),
            "collective_permute, all_gather");
  EXPECT_EQ(text(make({{x, y}, {}}), make({{y, x}, {}})), "collective_permute");
  EXPECT_EQ(text(make({{y}, {}}), make({{}, {y}})), "all_to_all");
  EXPECT_EQ(text(make({{x, y}, {}}), make({{}, {x, y}})), "all_to_all");
  EXPECT_EQ(text(make({{}, {x}}), make({{y}, {}})), "slice, all_gather");
  EXPECT_EQ(text(make({{}, {}}, {x}), make({{}, {}})), "all_reduce");
  EXPECT_EQ(text(make({{}, {}}, {y}), make({{x, y}, {}})),
            "slice, reduce_scatter");
  EXPECT_EQ(text(make({{}, {}}), make({{}, {}}, {x})), "to_partial");
}

TEST(ReshardPlan, BlocksBecomeAddendsWhereTheyAre) {
  Mesh mesh = makeMesh({2, 4});
  llvm::SmallVector<int64_t> shape{24, 48};
  auto text = [&](Sharding source, Sharding target) {
    return planText(shape, source, target, mesh);
  };
  EXPECT_EQ(text(make({{x}, {}}), make({{}, {}}, {x})), "to_partial");
  EXPECT_EQ(text(make({{x}, {y}}), make({{}, {y}}, {x})), "to_partial");
  EXPECT_EQ(text(make({{x}, {y}}), make({{}, {}}, {x, y})), "to_partial");
  EXPECT_EQ(text(make({{y, x}, {}}), make({{y}, {}}, {x})), "to_partial");
  EXPECT_EQ(text(make({{x}, {}}), make({{}, {y}}, {x})), "slice, to_partial");
  EXPECT_EQ(text(make({{x}, {}}, {y}), make({{}, {}}, {x, y})), "to_partial");
  EXPECT_EQ(text(make({{x}, {}}, {y}), make({{}, {}}, {x})),
            "all_reduce, to_partial");
  // Blocks of 2 x 4 over 25 rows are not those of 4 cut in two.
  shape[0] = 25;
  EXPECT_EQ(text(make({{y, x}, {}}), make({{y}, {}}, {x})),
            "exchange, to_partial");
}

TEST(ReshardPlan, SumsAreScatteredInFrontOfASlice) {
  Mesh mesh = makeMesh({2, 4});
  ReshardPlan plan =
      planReshard({24, 48}, make({{}, {}}, {y}), make({{y, x}, {}}), mesh);
  llvm::SmallVector<llvm::StringRef> names;
  for (const PlannedStep &step : plan)
    names.push_back(nameOf(step.step));
  EXPECT_EQ(names, (llvm::SmallVector<llvm::StringRef>{
                       "reshape", "slice", "reduce_scatter", "reshape"}));
  // Every second block of 3 rows, then one of them.
  EXPECT_EQ(plan[0].shape, (llvm::SmallVector<int64_t, 0>{4, 6, 48}));
  EXPECT_EQ(plan[1].result, make({{}, {x}, {}}, {y}));
  EXPECT_EQ(plan[2].result, make({{y}, {x}, {}}));
  EXPECT_TRUE(plan[3].shape.empty());
}

TEST(ReshardPlan, MovesFromTwoDimensionsShareOneExchange) {
  Mesh mesh = makeMesh({2, 2, 2});
  auto plan = planReshard({8, 24, 16}, make({{x}, {y}, {}}),
                          make({{}, {}, {x, y}}), mesh);
  ASSERT_EQ(plan.size(), 1u);
  ShardingDelta delta = describeStep(make({{x}, {y}, {}}), plan[0].result);
  EXPECT_EQ(delta.moves.size(), 2u);
}

TEST(ReshardPlan, UnevenBlocksWithoutCommonBoundariesAreExchanged) {
  Mesh mesh = makeMesh({2, 4});
  // 14 rows: blocks of 7 over x, of 2 (16 rows) over x and y.
  EXPECT_EQ(planText({14, 8}, make({{x}, {}}), make({{x, y}, {}}), mesh),
            "exchange");
  // From the whole dimension all blocks can be cut.
  EXPECT_EQ(planText({14, 8}, make({{}, {}}), make({{x, y}, {}}), mesh),
            "slice");
}

AxisList axesOf(const Sharding &sharding) {
  AxisList all;
  for (const AxisList &axes : sharding.dims)
    all.append(axes);
  return all;
}

/// Every step changes the sharding as its collective can, and blocks nest
/// wherever axes are added to or taken from a dimension.
void checkStep(llvm::ArrayRef<int64_t> whole, const Sharding &before,
               const PlannedStep &step, const Mesh &mesh) {
  const Sharding &after = step.result;
  llvm::ArrayRef<int64_t> shape = step.shapeOr(whole);
  if (step.step == StepKind::Reshape) { // Blocks keep their elements.
    EXPECT_EQ(mesh.sizeOf(axesOf(before)), mesh.sizeOf(axesOf(after)));
    return;
  }
  auto isPrefix = [](llvm::ArrayRef<AxisId> a, llvm::ArrayRef<AxisId> b) {
    return a.size() <= b.size() && b.take_front(a.size()) == a;
  };
  auto nests = [&](size_t dim, llvm::ArrayRef<AxisId> outer,
                   llvm::ArrayRef<AxisId> whole) {
    int64_t inner = mesh.sizeOf(whole) / mesh.sizeOf(outer);
    return outer.empty() ||
           shardSize(shape[dim], mesh.sizeOf(outer)) ==
               inner * shardSize(shape[dim], mesh.sizeOf(whole));
  };
  for (auto [d, pair] :
       llvm::enumerate(llvm::zip_equal(before.dims, after.dims))) {
    auto [from, to] = pair;
    switch (step.step) {
    case StepKind::Exchange: // can do all
    case StepKind::Relabel:
    case StepKind::Reshape:
      break;
    case StepKind::CollectivePermute:
      EXPECT_EQ(mesh.sizeOf(from), mesh.sizeOf(to));
      break;
    case StepKind::Slice:
    case StepKind::ReduceScatter:
      EXPECT_TRUE(isPrefix(from, to) && nests(d, from, to));
      break;
    case StepKind::AllGather:
      EXPECT_TRUE(isPrefix(to, from) && nests(d, to, from));
      break;
    case StepKind::AllToAll: {
      AxisList kept;
      while (kept.size() < std::min(from.size(), to.size()) &&
             from[kept.size()] == to[kept.size()])
        kept.push_back(from[kept.size()]);
      EXPECT_TRUE(isPrefix(kept, from) && isPrefix(kept, to));
      EXPECT_TRUE(kept.size() == from.size() || kept.size() == to.size());
      EXPECT_TRUE(nests(d, kept, from) && nests(d, kept, to));
      break;
    }
    case StepKind::ToPartial: // from a block, too
      EXPECT_TRUE(isPrefix(to, from) && nests(d, to, from));
      break;
    case StepKind::AllReduce:
      EXPECT_EQ(from, to);
      break;
    }
  }
}

class RandomShardings {
public:
  explicit RandomShardings(unsigned seed) : random(seed) {}

  int64_t below(int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n - 1)(random);
  }

  Sharding sharding(size_t rank, size_t axes, bool mayBePartial) {
    Sharding result = Sharding::replicated(rank);
    AxisList order;
    for (AxisId axis = 0; axis < axes; ++axis)
      order.insert(order.begin() + below(order.size() + 1), axis);
    for (AxisId axis : order) {
      int64_t place = below(rank + 2);
      if (place < static_cast<int64_t>(rank))
        result.dims[place].push_back(axis);
      else if (mayBePartial && place == static_cast<int64_t>(rank))
        result.partial.push_back(axis);
    }
    llvm::sort(result.partial);
    return result;
  }

private:
  std::mt19937 random;
};

TEST(ReshardPlan, EveryStepIsOneThatItsCollectiveCanDo) {
  RandomShardings random(7);
  for (Mesh mesh : {makeMesh({2, 4}), makeMesh({2, 2, 2}), makeMesh({3, 2, 4})})
    for (llvm::SmallVector<int64_t> shape :
         {llvm::SmallVector<int64_t>{24, 48, 96}, {15, 14, 7}, {5, 3, 2}})
      for (int i = 0; i < 2000; ++i) {
        Sharding state = random.sharding(3, mesh.axes.size(), true);
        Sharding target = random.sharding(3, mesh.axes.size(), true);
        Sharding source = state;
        for (const PlannedStep &step :
             planReshard(shape, source, target, mesh)) {
          checkStep(shape, state, step, mesh);
          EXPECT_NE(state, step.result);
          state = step.result;
        }
        ASSERT_EQ(state, target) << toString(source, mesh);
      }
}

TEST(DescribePermute, ListsTheSameAxesTwice) {
  Mesh mesh = makeMesh({2, 2, 2});
  // [{"x"}] -> [{"y"}]: x and y trade places.
  AxisPermutation p = describePermute(make({{x}}), make({{y}}), mesh);
  EXPECT_EQ(p.source, (AxisList{x, y}));
  EXPECT_EQ(p.target, (AxisList{y, x}));
  p = describePermute(make({{x, y}, {z}}), make({{z, y}, {x}}), mesh);
  EXPECT_EQ(p.source, (AxisList{x, y, z}));
  EXPECT_EQ(p.target, (AxisList{z, y, x}));
}

} // namespace

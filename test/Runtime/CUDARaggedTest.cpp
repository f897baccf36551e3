// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All ways to compute a ragged einsum on a device give the same.

#include "CUDA/Device.h"
#include "CUDA/RaggedEinsum.h"
#include "Program/Numeric.h"
#include "TestScratch.h"
#include "shoal/Products/RaggedProduct.h"
#include "shoal/Runtime/ABI.h"

#include <gtest/gtest.h>
#include <random>

using namespace shoal::rt;

namespace {

enum Spec { Forward, Transposed, Gradient, Batched };

/// Letters r, m, e, h and b are 0 to 4.
std::vector<int64_t> describe(Spec spec, ElementType in, ElementType out,
                              std::vector<int64_t> sizes) {
  std::vector<int64_t> desc = {static_cast<int64_t>(in),
                               static_cast<int64_t>(out), SHOAL_RT_I32, 5};
  desc.insert(desc.end(), sizes.begin(), sizes.end());
  desc.push_back(0);
  static const std::vector<std::vector<int64_t>> terms = {
      {2, 0, 1, 3, 2, 1, 3, 1, 2, 2, 0, 3},          // rm,emh->rh
      {2, 1, 0, 3, 2, 3, 1, 1, 2, 2, 3, 0},          // mr,ehm->hr
      {2, 0, 1, 2, 0, 3, 1, 2, 3, 2, 1, 3},          // rm,rh->emh
      {3, 4, 0, 1, 3, 2, 1, 3, 2, 4, 2, 3, 4, 0, 3}, // brm,emh->brh
  };
  desc.insert(desc.end(), terms[spec].begin(), terms[spec].end());
  return desc;
}

template <typename T>
std::vector<T> random(int64_t count, std::mt19937 &engine) {
  std::vector<T> values(count);
  for (T &value : values)
    value = convert<T>(static_cast<float>(engine() % 5) - 2);
  return values;
}

template <typename T>
std::vector<T> runAs(RaggedWay way, const std::vector<int64_t> &desc,
                     const std::vector<T> &in0, const std::vector<T> &in1,
                     const std::vector<int32_t> &begins,
                     const std::vector<int32_t> &ends, int64_t elements) {
  std::vector<T> out(elements, convert<T>(77.0f));
  TestScratch scratch(decode<RaggedEinsumCall>(desc.data()));
  EXPECT_TRUE(runRagged(desc.data(),
                        {in0.data(), in1.data(), begins.data(), ends.data(),
                         out.data(), scratch.data()},
                        way));
  return out;
}

/// `groups` are the bounds of each group.
template <typename T>
void check(Spec spec, ElementType type, int64_t rows, int64_t m, int64_t h,
           const std::vector<std::pair<int32_t, int32_t>> &groups,
           bool disjoint) {
  auto numGroups = static_cast<int64_t>(groups.size());
  int64_t batches = spec == Batched ? 2 : 1;
  std::vector<int64_t> desc =
      describe(spec, type, type, {rows, m, numGroups, h, batches});
  std::mt19937 engine(static_cast<unsigned>(rows + m));
  bool isGradient = spec == Gradient;
  auto in0 = random<T>(batches * rows * m, engine);
  auto in1 = random<T>(isGradient ? rows * h : numGroups * m * h, engine);
  int64_t elements = isGradient ? numGroups * m * h : batches * rows * h;
  std::vector<int32_t> begins, ends;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (auto [begin, end] : groups) {
      begins.push_back(begin);
      ends.push_back(end);
    }
  auto bits = [](const std::vector<T> &values) {
    std::vector<double> wide;
    for (T value : values)
      wide.push_back(static_cast<double>(widen(value)));
    return wide;
  };
  auto run = [&](RaggedWay way) {
    return bits(runAs(way, desc, in0, in1, begins, ends, elements));
  };
  std::vector<double> loops = run(RaggedWay::Loops);
  EXPECT_EQ(run(RaggedWay::Grouped), loops) << "spec " << spec;
  if (disjoint && spec != Transposed)
    EXPECT_EQ(run(RaggedWay::Calls), loops) << "spec " << spec;
}

TEST(RaggedWays, are_the_same) {
  for (Spec spec : {Forward, Transposed, Gradient, Batched}) {
    check<float>(spec, ElementType::F32, 70, 20, 66, {{0, 30}, {30, 65}}, true);
    check<double>(spec, ElementType::F64, 70, 20, 9, {{0, 70}}, true);
    check<BFloat16>(spec, ElementType::BF16, 140, 40, 136,
                    {{0, 30}, {30, 30}, {30, 135}}, true);
    check<Float16>(spec, ElementType::F16, 33, 17, 5, {{3, 8}, {8, 33}}, true);
  }
}

/// Tiles that lie in one group, in several, in none; bounds past the end.
TEST(RaggedWays, groups_that_overlap_and_leave_gaps) {
  for (Spec spec : {Forward, Gradient}) {
    check<float>(spec, ElementType::F32, 200, 8, 70,
                 {{-3, 20}, {10, 90}, {150, 120}, {190, 300}}, false);
    check<BFloat16>(spec, ElementType::BF16, 300, 16, 24,
                    {{5, 260}, {100, 110}, {290, 300}}, false);
  }
}

/// Rows of other groups are computed beside a group's own, but not kept.
TEST(RaggedWays, infinities_stay_in_their_group) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<int64_t> desc =
      describe(Forward, ElementType::F32, ElementType::F32, {4, 1, 2, 1, 1});
  std::vector<float> in0 = {0, 1, 2, 3}, in1 = {1, inf};
  std::vector<int32_t> begins = {0, 2}, ends = {2, 4};
  EXPECT_EQ(runAs(RaggedWay::Grouped, desc, in0, in1, begins, ends, 4),
            (std::vector<float>{0, 1, inf, inf}));
}

TEST(RaggedWays, long_products_are_cublas_if_the_host_may_wait) {
  auto way = [](ElementType type, int64_t rows) {
    std::vector<int64_t> desc =
        describe(Forward, type, type, {rows, 4096, 8, 14336, 1});
    return chooseRaggedWay(desc.data());
  };
  EXPECT_EQ(way(ElementType::BF16, 8192), RaggedWay::Calls);
  EXPECT_EQ(way(ElementType::BF16, 16), RaggedWay::Grouped);
  EXPECT_EQ(way(ElementType::I32, 8192), RaggedWay::Loops);
  Device::get().setMayWait(false);
  EXPECT_EQ(way(ElementType::BF16, 8192), RaggedWay::Grouped);
  Device::get().setMayWait(true);
}

} // namespace

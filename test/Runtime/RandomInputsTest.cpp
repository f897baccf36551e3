// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/RandomInputs.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

using namespace shoal::support;

namespace {

std::vector<float> whole(uint64_t seed, const std::string &name,
                         std::vector<int64_t> shape) {
  std::vector<float> values(numElements(shape));
  fillRandom(seed, name, ElementType::F32, shape, values.data());
  return values;
}

TEST(RandomInputs, a_block_is_the_same_part_of_the_whole) {
  std::vector<int64_t> shape = {5, 7, 6}, buffer = {3, 7, 4};
  std::vector<float> all = whole(3, "x", shape);
  std::vector<float> part(3 * 7 * 4, -100);
  Block block{{2, 0, 1}, {3, 7, 4}};
  fillRandomBlock(3, "x", ElementType::F32, shape, block, buffer, part.data());
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 7; ++j)
      for (int64_t k = 0; k < 4; ++k)
        EXPECT_EQ(part[(i * 7 + j) * 4 + k],
                  all[((i + 2) * 7 + j) * 6 + k + 1]);
}

TEST(RandomInputs, depends_on_seed_and_name) {
  EXPECT_EQ(whole(1, "x", {8}), whole(1, "x", {8}));
  EXPECT_NE(whole(1, "x", {8}), whole(2, "x", {8}));
  EXPECT_NE(whole(1, "x", {8}), whole(1, "y", {8}));
}

TEST(RandomInputs, floats_are_standard_normal) {
  std::vector<float> values = whole(5, "w", {100000});
  double sum = 0, squares = 0, largest = 0;
  for (float value : values) {
    sum += value;
    squares += value * value;
    largest = std::max<double>(largest, std::abs(value));
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.01);
  EXPECT_NEAR(squares / 1e5, 1, 0.01);
  EXPECT_LT(largest, 3.47);
}

TEST(RandomInputs, integers_and_bits_are_fair) {
  std::vector<int32_t> values(8000);
  std::vector<int64_t> shape = {8000};
  fillRandom(0, "i", ElementType::I32, shape, values.data());
  std::vector<int> seen(8, 0);
  for (int32_t value : values) {
    ASSERT_TRUE(value >= 0 && value < 8);
    ++seen[value];
  }
  EXPECT_THAT(
      seen, testing::Each(testing::AllOf(testing::Gt(800), testing::Lt(1200))));
  std::vector<uint8_t> bits(8000);
  fillRandom(0, "b", ElementType::I1, shape, bits.data());
  EXPECT_NEAR(std::accumulate(bits.begin(), bits.end(), 0), 4000, 300);
}

/// The values are a contract: other programs may make the same arrays.
TEST(RandomInputs, fixed_values) {
  std::vector<float> values = whole(42, "x", {3});
  EXPECT_FLOAT_EQ(values[0], 0.05201227f);
  EXPECT_FLOAT_EQ(values[1], 1.00097187f);
  EXPECT_FLOAT_EQ(values[2], 1.42140437f);
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestScratch.h"
#include "shoal/Calls/OrderingScratch.h"
#include "shoal/Runtime/ABI.h"
#include "shoal/Support/SmallFloat.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace shoal::calls;
using testing::ElementsAre;

namespace {

template <typename T>
std::vector<T> scan(const CumulativeCall &call, std::vector<T> in) {
  std::vector<int64_t> desc = encode(call);
  std::vector<T> out(in.size());
  shoal_rt_cumulative(desc.data(), in.data(), out.data());
  return out;
}

// Type, kind, shape, axis, exclusive, reverse.
TEST(Cumulative, inclusive_and_exclusive_both_ways) {
  std::vector<float> in = {1, 2, 3, 4};
  EXPECT_THAT(
      scan<float>({ElementType::F32, Kind::Sum, {4}, 0, false, false}, in),
      ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(
      scan<float>({ElementType::F32, Kind::Sum, {4}, 0, true, false}, in),
      ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(
      scan<float>({ElementType::F32, Kind::Sum, {4}, 0, false, true}, in),
      ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(
      scan<float>({ElementType::F32, Kind::Sum, {4}, 0, true, true}, in),
      ElementsAre(9, 7, 4, 0));
}

TEST(Cumulative, along_the_first_and_the_last_dim) {
  std::vector<int32_t> in = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(
      scan<int32_t>({ElementType::I32, Kind::Sum, {2, 3}, 0, false, false}, in),
      ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(
      scan<int32_t>({ElementType::I32, Kind::Sum, {2, 3}, 1, false, false}, in),
      ElementsAre(1, 3, 6, 4, 9, 15));
}

TEST(Cumulative, max_begins_at_the_least_value) {
  std::vector<int8_t> in = {-3, 5, 2};
  EXPECT_THAT(
      scan<int8_t>({ElementType::I8, Kind::Max, {3}, 0, true, false}, in),
      ElementsAre(-128, -3, 5));
}

TEST(Cumulative, wide_inner_dims_are_cut_into_strips) {
  constexpr int64_t rows = 3, columns = 700;
  std::vector<int64_t> in(rows * columns);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<int64_t>(i);
  auto out = scan<int64_t>(
      {ElementType::I64, Kind::Sum, {rows, columns}, 0, false, false}, in);
  for (int64_t c = 0; c < columns; ++c)
    EXPECT_EQ(out[2 * columns + c], 3 * c + 3 * columns);
}

TEST(Cumulative, bf16_accumulates_in_f32) {
  // 256 + 1 is not a bf16: summed in bf16 it would stay at 256.
  constexpr int64_t count = 512;
  std::vector<uint16_t> ones(count, shoal::support::toBFloat16(1).bits);
  auto out = scan<uint16_t>(
      {ElementType::BF16, Kind::Sum, {count}, 0, false, false}, ones);
  EXPECT_EQ(shoal::support::toFloat(shoal::support::BFloat16{out[count - 1]}),
            512);
}

/// Sums of i64, which no order of adding changes.
void checkLong(int64_t outer, int64_t count, int64_t inner, bool exclusive,
               bool reverse) {
  std::vector<int64_t> in(outer * count * inner), expected(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<int64_t>(i * 7919 % 1000) - 300;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      int64_t sum = 0;
      for (int64_t step = 0; step < count; ++step) {
        int64_t i = reverse ? count - 1 - step : step;
        int64_t at = (o * count + i) * inner + j;
        expected[at] = exclusive ? sum : sum + in[at];
        sum += in[at];
      }
    }
  auto out = scan<int64_t>({ElementType::I64,
                            Kind::Sum,
                            {outer, count, inner},
                            1,
                            exclusive,
                            reverse},
                           in);
  EXPECT_EQ(out, expected) << count << " of " << inner;
}

TEST(Cumulative, long_lines) {
  for (int64_t count : {65, 1024, 1025, 5000})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        checkLong(2, count, 1, exclusive, reverse);
        checkLong(1, count, 3, exclusive, reverse);
      }
}

TEST(Cumulative, no_elements) {
  EXPECT_TRUE(
      scan<float>({ElementType::F32, Kind::Sum, {0, 4}, 0, false, false}, {})
          .empty());
}

struct Top {
  std::vector<float> values;
  std::vector<int32_t> indices;
};

Top topK(std::vector<int64_t> shape, int64_t k, std::vector<float> in) {
  TopKCall call{ElementType::F32, shape, k};
  std::vector<int64_t> desc = encode(call);
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  Top top{std::vector<float>(rows * k), std::vector<int32_t>(rows * k)};
  TestScratch scratch(call);
  shoal_rt_top_k(desc.data(), in.data(), top.values.data(), top.indices.data(),
                 scratch.data());
  return top;
}

TEST(TopK, descending_with_ties_to_the_lower_index) {
  Top top = topK({2, 4}, 2, {1, 3, 3, 2, 5, 5, 5, 6});
  EXPECT_THAT(top.values, ElementsAre(3, 3, 6, 5));
  EXPECT_THAT(top.indices, ElementsAre(1, 2, 3, 0));
}

TEST(TopK, nan_is_greatest) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  float inf = std::numeric_limits<float>::infinity();
  Top top = topK({5}, 3, {inf, nan, -inf, nan, 1});
  EXPECT_THAT(top.indices, ElementsAre(1, 3, 0));
}

TEST(TopK, of_many_agrees_with_of_few) {
  std::vector<float> in;
  for (int i = 0; i < 200; ++i)
    in.push_back(static_cast<float>(i * 37 % 50));
  Top few = topK({200}, 16, in), many = topK({200}, 40, in);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(few.indices[i], many.indices[i]);
  EXPECT_EQ(topK({200}, 200, in).values.back(), 0);
}

/// Keys and carried places, sorted along `axis`.
struct Sorted {
  std::vector<float> keys;
  std::vector<int32_t> places;
};

Sorted sortPairs(bool descending, std::vector<int64_t> shape, int64_t axis,
                 std::vector<float> keys) {
  SortCall call{{ElementType::F32, ElementType::I32},
                /*numKeys=*/1,
                descending,
                axis,
                shape};
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  std::vector<int32_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  Sorted result{std::vector<float>(keys.size()),
                std::vector<int32_t>(keys.size())};
  shoal_rt_sort(desc.data(), keys.data(), places.data(), result.keys.data(),
                result.places.data(), scratch.data());
  return result;
}

TEST(Sort, is_stable_with_nan_last_and_equal_zeros) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> keys = {-nan, 0.0F, 2, -0.0F, nan, -1};
  EXPECT_THAT(sortPairs(false, {6}, 0, keys).places,
              ElementsAre(5, 1, 3, 2, 0, 4));
  EXPECT_THAT(sortPairs(true, {6}, 0, keys).places,
              ElementsAre(0, 4, 2, 1, 3, 5));
}

TEST(Sort, along_either_dim) {
  std::vector<float> keys = {3, 1, 2, 0, 5, 1};
  EXPECT_THAT(sortPairs(false, {2, 3}, 0, keys).places,
              ElementsAre(3, 1, 5, 0, 4, 2));
  EXPECT_THAT(sortPairs(false, {2, 3}, 1, keys).keys,
              ElementsAre(1, 2, 3, 0, 1, 5));
}

/// More elements than are sorted at once, with many that are equal.
TEST(Sort, long_lines_are_stable) {
  for (int64_t count : {1000, 1024, 1025, 3000, 4097}) {
    std::vector<float> keys(2 * count);
    for (size_t i = 0; i < keys.size(); ++i)
      keys[i] = static_cast<float>(i * 7919 % 97) - 50;
    for (bool descending : {false, true}) {
      std::vector<int32_t> expected(keys.size());
      std::iota(expected.begin(), expected.end(), 0);
      for (int64_t line = 0; line < 2; ++line)
        std::sort(expected.begin() + line * count,
                  expected.begin() + (line + 1) * count,
                  [&](int32_t a, int32_t b) {
                    if (keys[a] != keys[b])
                      return descending ? keys[a] > keys[b] : keys[a] < keys[b];
                    return a < b;
                  });
      EXPECT_EQ(sortPairs(descending, {2, count}, 1, keys).places, expected);
    }
  }
}

TEST(Sort, by_two_keys) {
  std::vector<uint8_t> first = {1, 0, 1, 0}; // i1
  std::vector<int8_t> second = {5, -2, -7, -3};
  std::vector<uint8_t> firstSorted(4);
  std::vector<int8_t> secondSorted(4);
  SortCall call{{ElementType::I1, ElementType::I8},
                /*numKeys=*/2,
                /*descending=*/false,
                /*axis=*/0,
                {4}};
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  shoal_rt_sort(desc.data(), first.data(), second.data(), firstSorted.data(),
                secondSorted.data(), scratch.data());
  EXPECT_THAT(firstSorted, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(secondSorted, ElementsAre(-3, -2, -7, 5));
}

} // namespace

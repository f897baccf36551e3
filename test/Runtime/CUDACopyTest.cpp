// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that runtime calls are made of, on the emulated device.

#include "CUDA/BoxCopy.h"
#include "CUDA/Combine.h"
#include "CUDA/Device.h"
#include "CUDA/StridedCopy.h"
#include "CUDAKernels/Items.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace shoal::rt;

namespace {

cudaStream_t stream() { return Device::get().compute(); }

template <typename T>
std::vector<T> numbered(int64_t count) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = convert<T>(static_cast<float>(i % 113) - 40);
  return values;
}

/// Copies a tensor of the shape so that its dimensions come in another order,
/// the elements between being left alone.
template <typename From, typename To>
void checkPermutation(const std::vector<int64_t> &shape,
                      const std::vector<size_t> &order, ElementType from,
                      ElementType to, int64_t firstElement = 0) {
  std::vector<int64_t> source = rowMajorStrides(shape), permuted;
  for (size_t d : order)
    permuted.push_back(shape[d]);
  std::vector<int64_t> target = rowMajorStrides(permuted);
  Loops<2> loops;
  for (size_t i = 0; i < order.size(); ++i)
    loops.push_back({shape[order[i]], {source[order[i]], target[i]}});
  int64_t count = shoal::support::numElements(shape);
  auto in = numbered<From>(count + firstElement);
  std::vector<To> out(count, convert<To>(float(1))), expected = out;
  forEach<2>(loops, [&](const Offsets<2> &at) {
    expected[at[1]] = convert<To>(in[firstElement + at[0]]);
  });
  copyStrided(loops, from, in.data() + firstElement, to, out.data(), stream());
  EXPECT_EQ(std::memcmp(out.data(), expected.data(), count * sizeof(To)), 0);
}

TEST(StridedCopy, permutations_of_every_width) {
  std::vector<size_t> order = {0, 1, 2};
  do
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{3, 40, 64}, {5, 33, 7}, {70, 2, 35}}) {
      checkPermutation<double, double>(shape, order, ElementType::F64,
                                       ElementType::F64);
      checkPermutation<float, float>(shape, order, ElementType::F32,
                                     ElementType::F32);
      checkPermutation<BFloat16, BFloat16>(shape, order, ElementType::BF16,
                                           ElementType::BF16);
      checkPermutation<int8_t, int8_t>(shape, order, ElementType::I8,
                                       ElementType::I8);
      checkPermutation<float, BFloat16>(shape, order, ElementType::F32,
                                        ElementType::BF16);
    }
  while (std::next_permutation(order.begin(), order.end()));
}

TEST(StridedCopy, transposes_in_words) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{2, 132, 64}, {3, 8, 260}, {1, 300, 36}})
    for (int64_t first : {0, 1}) { // with 1, not aligned
      checkPermutation<int8_t, int8_t>(shape, {0, 2, 1}, ElementType::I8,
                                       ElementType::I8, first);
      checkPermutation<BFloat16, BFloat16>(shape, {2, 0, 1}, ElementType::BF16,
                                           ElementType::BF16, first);
    }
}

TEST(StridedCopy, long_rows_and_many_short_ones) {
  checkPermutation<float, float>({2, 3, 5000}, {1, 0, 2}, ElementType::F32,
                                 ElementType::F32);
  checkPermutation<int8_t, int8_t>({30, 40, 3}, {1, 0, 2}, ElementType::I8,
                                   ElementType::I8);
  checkPermutation<float, BFloat16>({2, 3, 4004}, {1, 0, 2}, ElementType::F32,
                                    ElementType::BF16);
}

TEST(StridedCopy, rows_that_are_not_at_whole_words) {
  for (int64_t first : {1, 2, 4})
    checkPermutation<int16_t, int16_t>({4, 5, 24}, {1, 0, 2}, ElementType::I16,
                                       ElementType::I16, first);
}

TEST(StridedCopy, converts_all_pairs) {
  checkPermutation<double, Float16>({50}, {0}, ElementType::F64,
                                    ElementType::F16);
  checkPermutation<Float16, float>({50}, {0}, ElementType::F16,
                                   ElementType::F32);
  checkPermutation<BFloat16, double>({50}, {0}, ElementType::BF16,
                                     ElementType::F64);
  checkPermutation<int64_t, int8_t>({50}, {0}, ElementType::I64,
                                    ElementType::I8);
  checkPermutation<int16_t, Bool>({50}, {0}, ElementType::I16, ElementType::I1);
}

TEST(StridedCopy, boxes) {
  std::vector<int64_t> extent = {2, 3, 4}, sourceShape = {4, 5, 6},
                       sourceBegin = {1, 2, 1}, targetShape = {2, 4, 9},
                       targetBegin = {0, 1, 5};
  auto in = numbered<float>(120);
  std::vector<float> out(72, -1), expected = out;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 4; ++k)
        expected[(i * 4 + j + 1) * 9 + k + 5] =
            in[((i + 1) * 5 + j + 2) * 6 + k + 1];
  copyBox({extent, sourceShape, sourceBegin, targetShape, targetBegin},
          ElementType::F32, in.data(), out.data(), stream());
  EXPECT_EQ(out, expected);
}

template <typename T, Kind kind>
void checkCombine(ElementType type, int64_t count = 700) {
  constexpr int64_t parts = 3;
  auto in = numbered<T>(count * parts);
  std::vector<T> out(count);
  combine(type, kind, count, parts, in.data(), out.data(), stream());
  for (int64_t i = 0; i < count; ++i) {
    T expected = in[i];
    for (int64_t part = 1; part < parts; ++part)
      expected = combine<kind>(expected, in[part * count + i]);
    ASSERT_EQ(std::memcmp(&out[i], &expected, sizeof(T)), 0) << i;
  }
}

TEST(Combine, rounds_and_wraps_after_every_pair) {
  checkCombine<BFloat16, Kind::Prod>(ElementType::BF16);
  checkCombine<Float16, Kind::Sum>(ElementType::F16);
  checkCombine<float, Kind::Max>(ElementType::F32);
  checkCombine<double, Kind::Sum>(ElementType::F64);
  checkCombine<int8_t, Kind::Prod>(ElementType::I8);
  checkCombine<int32_t, Kind::And>(ElementType::I32);
  checkCombine<int64_t, Kind::Or>(ElementType::I64);
  checkCombine<Bool, Kind::Min>(ElementType::I1);
  checkCombine<float, Kind::Sum>(ElementType::F32, /*count=*/701);
}

TEST(Divisor, divides_every_index_of_31_bits) {
  std::mt19937 engine(9);
  auto check = [](int64_t value, uint32_t index) {
    auto [quotient, rest] = divide(index, Divisor(value));
    ASSERT_EQ(quotient, index / value) << index << " / " << value;
    ASSERT_EQ(rest, index % value) << index << " % " << value;
  };
  for (int i = 0; i < 20000; ++i) {
    // Of every length, and next to powers of two.
    int64_t value = 1 + static_cast<int64_t>(engine() >> (i % 32));
    int64_t power = int64_t(1) << (i % 33);
    for (int64_t by :
         {value, power, power + 1, std::max<int64_t>(power - 1, 1)})
      for (int64_t index :
           {int64_t(engine() & INT32_MAX), int64_t(INT32_MAX), by - 1, by,
            INT32_MAX / by * by, INT32_MAX / by * by - 1})
        if (index >= 0 && index <= INT32_MAX)
          check(by, static_cast<uint32_t>(index));
  }
}

/// How often a grid visits each item.
template <typename Index>
std::vector<int> countVisits(const Rows &rows, int32_t blocks) {
  std::vector<int> visits(rows.count * rows.length);
  for (int32_t block = 0; block < blocks; ++block)
    for (int32_t thread = 0; thread < blockThreads; ++thread) {
      shoal_emulated_thread self{};
      self.thread[0] = thread;
      self.block[0] = block;
      self.grid_dim[0] = blocks;
      emulated = &self;
      forEachChunkOf<Index>(rows, [&](const Chunk<Index> &chunk) {
        chunk.forEach(
            [&](Index index) { ++visits[chunk.row * rows.length + index]; });
      });
    }
  emulated = nullptr;
  return visits;
}

TEST(Rows, every_item_is_taken_once_by_indices_of_both_widths) {
  for (const Rows &rows :
       {Rows(1, 1), Rows(7, 3), Rows(300, 20), Rows(3, 1100), Rows(1, 5000)})
    for (int32_t blocks : {1, 3}) {
      std::vector<int> once(rows.count * rows.length, 1);
      EXPECT_EQ(countVisits<uint32_t>(rows, blocks), once);
      EXPECT_EQ(countVisits<int64_t>(rows, blocks), once);
    }
}

TEST(Fill, sets_elements_of_every_width) {
  std::vector<uint16_t> out(1000, 7);
  fill(2, 0xabcd, 999, out.data(), stream());
  EXPECT_EQ(out[998], 0xabcd);
  EXPECT_EQ(out[999], 7);
}

} // namespace

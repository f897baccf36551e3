// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sums of reduce_scatter on a CPU.

#include "CPU/Combine.h"

#include <gmock/gmock.h>

using namespace shoal::rt;

namespace {

TEST(Combine, RoundsSmallFloatsOnce) {
  // 256 + 1 + 1: after the first pair bf16 would round back to 256.
  std::vector<BFloat16> terms = {
      shoal::support::toBFloat16(256), shoal::support::toBFloat16(-256),
      shoal::support::toBFloat16(1),   shoal::support::toBFloat16(-1),
      shoal::support::toBFloat16(1),   shoal::support::toBFloat16(-1)};
  std::vector<BFloat16> sums(2);
  combine(ElementType::BF16, Kind::Sum, 2, 3, terms.data(), sums.data());
  EXPECT_EQ(widen(sums[0]), 258);
  EXPECT_EQ(widen(sums[1]), -258);
}

TEST(Combine, MoreThanOneStrip) {
  constexpr int64_t count = 2500, parts = 3;
  std::vector<int16_t> terms(count * parts), greatest(count);
  for (int64_t i = 0; i < count * parts; ++i)
    terms[i] = static_cast<int16_t>(i * 7919 % 1000);
  combine(ElementType::I16, Kind::Max, count, parts, terms.data(),
          greatest.data());
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(greatest[i],
              std::max({terms[i], terms[i + count], terms[i + 2 * count]}))
        << "element " << i;
}

TEST(Combine, TruthValues) {
  std::vector<Bool> terms = {{0}, {0}, {1}, {0}, {1}, {1}}, any(3);
  combine(ElementType::I1, Kind::Sum, 3, 2, terms.data(), any.data());
  EXPECT_EQ(any[0].value, 0);
  EXPECT_EQ(any[1].value, 1);
  EXPECT_EQ(any[2].value, 1);
}

} // namespace

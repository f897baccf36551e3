// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/SlabExchange.h"

#include <gtest/gtest.h>

using namespace shoal;

namespace {

TEST(SlabExchange, two_devices_gather) {
  EXPECT_FALSE(sharedSlabDim({1, 64}, 2));
  EXPECT_EQ(slabElementsSent({1, 64}, 2), 64);
}

TEST(SlabExchange, more_devices_share_the_work) {
  EXPECT_EQ(sharedSlabDim({1, 64}, 4), 1u);
  EXPECT_EQ(slabElementsSent({1, 64}, 4), 2 * 48);
}

TEST(SlabExchange, the_dimension_that_pads_least_is_shared) {
  EXPECT_EQ(sharedSlabDim({9, 1, 16}, 8), 2u);
  EXPECT_EQ(sharedSlabDim({16, 1, 9}, 8), 0u);
  // Nine rows in parts of two: sixteen with the padding.
  EXPECT_DOUBLE_EQ(slabElementsSent({9}, 8), 2 * 16 * 7.0 / 8);
}

TEST(SlabExchange, nothing_to_share) {
  EXPECT_FALSE(sharedSlabDim({1}, 8));
  EXPECT_FALSE(sharedSlabDim({}, 8));
  EXPECT_EQ(slabElementsSent({}, 8), 7);
  EXPECT_FALSE(sharedSlabDim({0}, 8));
  EXPECT_EQ(slabElementsSent({0}, 8), 0);
}

TEST(SlabExchange, one_device_sends_nothing) {
  EXPECT_EQ(slabElementsSent({4, 4}, 1), 0);
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/Threshold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace shoal::support;

namespace {

const Threshold rows("rows of a test", 64);
const Threshold bytes("bytes of a test, half of them", 0.5);

Sides sidesOf(const Threshold &threshold, const std::string &text) {
  for (const Sides &sides : readSides(text))
    if (sides.name == threshold.name)
      return sides;
  ADD_FAILURE() << threshold.name << " is in none of the lines " << text;
  return {};
}

TEST(Threshold, the_value_itself_reaches_it) {
  EXPECT_FALSE(rows.isReachedBy(63));
  EXPECT_TRUE(rows.isReachedBy(64));
  EXPECT_TRUE(rows.isReachedBy(size_t(1) << 40));
  EXPECT_FALSE(rows.isReachedBy(-1));
  EXPECT_TRUE(bytes.isReachedBy(0.5));
}

TEST(Threshold, sides_are_those_asked_for_since_they_were_taken) {
  takeSides();
  std::ignore = rows.isReachedBy(10);
  Sides asked = sidesOf(rows, takeSides());
  EXPECT_EQ(asked.value, 64);
  EXPECT_TRUE(asked.below);
  EXPECT_FALSE(asked.above);
  std::ignore = rows.isReachedBy(100);
  asked = sidesOf(rows, takeSides());
  EXPECT_FALSE(asked.below);
  EXPECT_TRUE(asked.above);
}

TEST(Threshold, one_that_nobody_asked_is_listed) {
  takeSides();
  Sides silent = sidesOf(bytes, takeSides());
  EXPECT_EQ(silent.value, 0.5);
  EXPECT_FALSE(silent.below);
  EXPECT_FALSE(silent.above);
}

TEST(Threshold, lines_of_another_form_are_left_out) {
  std::vector<Sides> read = readSides("no colon\na:b:c:d\nx:3:1:0\n");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].name, "x");
  EXPECT_EQ(read[0].value, 3);
  EXPECT_TRUE(read[0].below);
  EXPECT_FALSE(read[0].above);
}

} // namespace

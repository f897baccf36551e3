// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is wrong with the slices of a ragged_all_to_all of two devices, whose
// tensors have 5 and 7 rows.

#include "Collectives/RaggedSlices.h"

#include <gtest/gtest.h>

#include <limits>

using namespace shoal::rt;

namespace {

RaggedAllToAllCall callOfTwo() {
  RaggedAllToAllCall call;
  call.inRows = 5;
  call.outRows = 7;
  call.slices = 2;
  call.axes = {{0, 1, 2}};
  return call;
}

/// All rows but one of the input, to the first rows of the output.
const RaggedCounts sound{{0, 2}, {2, 2}, {0, 0}, {2, 3}};

TEST(RaggedSlices, rows_of_both_tensors_may_be_sent) {
  EXPECT_EQ(findSendError(callOfTwo(), sound), "");
  RaggedCounts all = sound;
  all.inOffsets = {0, 0};
  all.outOffsets = {2, 2};
  all.sendSizes = {5, 5};
  EXPECT_EQ(findSendError(callOfTwo(), all), "");
}

TEST(RaggedSlices, no_rows_are_sent_from_anywhere) {
  RaggedCounts none = sound;
  none.sendSizes = {0, 0};
  none.inOffsets = {-3, 99};
  none.outOffsets = {std::numeric_limits<int64_t>::max(), -1};
  EXPECT_EQ(findSendError(callOfTwo(), none), "");
}

TEST(RaggedSlices, a_slice_lies_inside_of_the_input) {
  const std::string rest = ": these are not rows of the 5 of the input";
  for (auto [begin, rows] : std::initializer_list<std::pair<int64_t, int64_t>>{
           {-1, 2},
           {4, 2},
           {0, 6},
           {5, 1},
           {0, -1},
           {std::numeric_limits<int64_t>::min(), 1},
           {std::numeric_limits<int64_t>::max(), 1},
           {1, std::numeric_limits<int64_t>::max()}}) {
    RaggedCounts counts = sound;
    counts.inOffsets[1] = begin;
    counts.sendSizes[1] = rows;
    EXPECT_EQ(findSendError(callOfTwo(), counts),
              "input_offsets[1] " + std::to_string(begin) + ", send_sizes[1] " +
                  std::to_string(rows) + rest);
  }
}

TEST(RaggedSlices, a_slice_lies_inside_of_the_output) {
  for (int64_t begin : {-1, 6, 7}) {
    RaggedCounts counts = sound;
    counts.outOffsets[0] = begin;
    EXPECT_EQ(findSendError(callOfTwo(), counts),
              "output_offsets[0] " + std::to_string(begin) +
                  ", send_sizes[0] 2: these are not rows of the 7 of the "
                  "output");
  }
}

TEST(RaggedSlices, what_comes_is_what_is_expected) {
  std::vector<AnnouncedSlice> announced = {{0, 2}, {2, 3}};
  EXPECT_EQ(findReceiveError(callOfTwo(), sound, announced), "");
  announced[1].rows = 4;
  EXPECT_EQ(findReceiveError(callOfTwo(), sound, announced),
            "recv_sizes[1] 3: device 1 of the group sends 4");
}

TEST(RaggedSlices, no_row_comes_twice) {
  std::vector<AnnouncedSlice> announced = {{2, 2}, {0, 3}};
  EXPECT_EQ(
      findReceiveError(callOfTwo(), sound, announced),
      "row 2 of the output is sent by device 1 of the group and by device "
      "0 of the group");
}

TEST(RaggedSlices, each_says_where_its_rows_go) {
  std::vector<AnnouncedSlice> made = announce(sound);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[1].to, 0);
  EXPECT_EQ(made[1].rows, 2);
}

} // namespace

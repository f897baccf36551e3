// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much scratch collectives have, and in which parts reductions go.

#include "shoal/Calls/CollectiveScratch.h"

#include <gmock/gmock.h>

using namespace shoal::calls;
using testing::ElementsAre;

namespace {

constexpr ElementType f32 = ElementType::F32;
constexpr int64_t mib = 1 << 20;
const Axes four = {{0, 1, 4}};

TEST(BlockParts, follow_one_another_and_make_up_the_block) {
  for (int64_t most : {1, 2, 3, 5, 7, 12, 60, 100}) {
    std::vector<int64_t> shape = {3, 4, 5};
    BlockParts parts(shape, most);
    EXPECT_LE(parts.elements(), most);
    int64_t next = 0, largest = 0;
    parts.forEach([&](const Box &part) {
      EXPECT_EQ((part.begin[0] * 4 + part.begin[1]) * 5 + part.begin[2], next);
      next += part.volume();
      largest = std::max(largest, part.volume());
    });
    EXPECT_EQ(next, 60);
    EXPECT_EQ(largest, parts.elements());
  }
}

TEST(BlockParts, are_of_about_one_size) {
  std::vector<int64_t> rows;
  BlockParts({10, 3}, 12).forEach([&](const Box &part) {
    rows.push_back(part.extent[0]);
  });
  EXPECT_THAT(rows, ElementsAre(4, 4, 2));
}

TEST(CollectiveScratch, of_all_to_all_is_what_does_not_lie_in_order) {
  AllToAllCall call{0, f32, 0, {4, 8}, {16, 2}, {{0, 1, four}}};
  EXPECT_EQ(scratchBytes(call, false), 128); // cuts columns, appends rows
  call.in = {16, 2};
  call.out = {4, 8};
  call.moves = {{1, 0, four}};
  EXPECT_EQ(scratchBytes(call, false), 128); // cuts rows, appends columns
  call.moves[0].axes = {};
  EXPECT_EQ(scratchBytes(call, false), 0);
}

TEST(CollectiveScratch, of_all_to_all_of_long_rows_is_none_on_a_cpu) {
  // Rows of 64 KiB, cut and appended in front of them.
  AllToAllCall call{
      0, f32, 0, {16, 1, 128, 128}, {4, 4, 128, 128}, {{1, 0, four}}};
  EXPECT_EQ(scratchBytes(call, false), 0);
  EXPECT_EQ(scratchBytes(call, true), 1 * mib);
  // Shorter ones are staged,
  call.in[3] = call.out[3] = 127;
  EXPECT_EQ(scratchBytes(call, false), 4 * 4 * 128 * 127 * 4);
  // as are more than 256 messages,
  call.in = {512, 1, 128, 128}, call.out = {128, 4, 128, 128};
  EXPECT_EQ(scratchBytes(call, false), 512 * 64 * 1024);
  // and pieces with padding.
  call.in = {15, 1, 128, 128}, call.out = {4, 4, 128, 128};
  EXPECT_EQ(scratchBytes(call, false), 2 * mib);
}

TEST(CollectiveScratch, of_all_gather) {
  AllGatherCall call{0, f32, 0, {{16, 8}, {4, 8}, {four, {}}}};
  EXPECT_EQ(scratchBytes(call, false), 0); // rows
  call.blocks = {{16, 8}, {16, 2}, {{}, four}};
  EXPECT_EQ(scratchBytes(call, false), 512); // columns
  call.blocks = {{16, 7}, {16, 2}, {{}, four}};
  EXPECT_EQ(scratchBytes(call, false), 448 + 128); // uneven, packed as well
}

TEST(CollectiveScratch, of_all_reduce_is_a_kernels_on_a_device) {
  AllReduceCall call{0, f32, 0, Kind::Sum, 1001, four};
  EXPECT_EQ(scratchBytes(call, true), 0);
  call.kind = Kind::Max;
  EXPECT_EQ(scratchBytes(call, false), 0);
  EXPECT_EQ(scratchBytes(call, true), 4032); // 4 parts of 251
  call.count = 1000 * mib;
  EXPECT_EQ(scratchBytes(call, true), 64 * mib);
}

TEST(CollectiveScratch, of_reduce_scatter_is_bounded) {
  constexpr int64_t n = 4096;
  ReduceScatterCall call{
      0, f32, 0, Kind::Sum, {{n, n}, {n / 4, n}, {four, {}}}};
  EXPECT_EQ(scratchBytes(call, false), 4 * mib);
  EXPECT_EQ(scratchBytes(call, true), 0);
  // Columns are packed: parts on a CPU, the whole for NCCL.
  call.blocks = {{n, n}, {n, n / 4}, {{}, four}};
  EXPECT_EQ(scratchBytes(call, false), 8 * mib);
  EXPECT_EQ(scratchBytes(call, true), 64 * mib);
  call.kind = Kind::Max;
  EXPECT_EQ(scratchBytes(call, true), 128 * mib);
}

TEST(CollectiveScratch, of_an_exchange_of_rows_is_none) {
  ExchangeDim halo{16, 4, -1, 1, 6, four, four}, whole{8, 0, 0, 1, 8, {}, {}};
  ExchangeCall call{0, f32, 0, 0, {halo, whole}, 16, 16};
  EXPECT_EQ(scratchBytes(call, false), 0);
  call.dims = {whole, halo};
  EXPECT_EQ(scratchBytes(call, false), 128);
  ExchangeDim one{1, 0, 0, 1, 1, {}, {}};
  call.dims = {one, halo, whole};
  EXPECT_EQ(scratchBytes(call, false), 0);
}

TEST(CollectiveScratch, of_narrow_floats_reduced_by_us_is_a_part_of_each) {
  auto bytes = [](ElementType type, Kind kind, const Axes &axes) {
    return scratchBytes(AllReduceCall{0, type, 0, kind, 1001, axes}, false);
  };
  EXPECT_EQ(bytes(ElementType::BF16, Kind::Sum, four),
            sumOfPieces({4 * 251 * 2}));
  EXPECT_EQ(bytes(ElementType::F16, Kind::Prod, four),
            sumOfPieces({4 * 251 * 2}));
  EXPECT_EQ(bytes(ElementType::BF16, Kind::Max, four), 0);
  EXPECT_EQ(bytes(f32, Kind::Sum, four), 0);
  EXPECT_EQ(bytes(ElementType::BF16, Kind::Sum, {{0, 1, 2}}), 0);
}

TEST(CollectiveScratch, nothing_is_none) {
  EXPECT_EQ(scratchBytes(AllGatherCall{0, f32, 0, {{0, 8}, {0, 2}, {{}, four}}},
                         false),
            0);
  EXPECT_EQ(scratchBytes(AllReduceCall{0, f32, 0, Kind::Max, 0, four}, true),
            0);
  EXPECT_EQ(
      scratchBytes(
          ReduceScatterCall{0, f32, 0, Kind::Sum, {{0, 8}, {0, 2}, {{}, four}}},
          false),
      0);
}

} // namespace

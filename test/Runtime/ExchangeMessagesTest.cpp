// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which messages of an exchange go through staging memory.

#include "Common/ExchangeMessages.h"

#include <gmock/gmock.h>

using namespace shoal::rt;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

/// A device of a mesh of two, ["x" = 2].
Topology onDevice(int64_t rank) {
  Topology topology;
  topology.setUp({Mesh("m", {{"x", 2}}, {})}, rank);
  return topology;
}

/// A dimension over "x" of which everybody gets one row more on both sides.
ExchangeDim shared(int64_t size) {
  return {size, size / 2, -1, 1, size / 2 + 2, {{0, 1, 2}}, {{0, 1, 2}}};
}

/// One that all have.
ExchangeDim whole(int64_t size) { return {size, 0, 0, 1, size, {}, {}}; }

TEST(ExchangeMessages, RowsGoStraightFromAndIntoTheTensors) {
  // [4, 3] over rows: everybody gets one row more from the other.
  static const std::vector<int64_t> desc = encode(
      ExchangeCall{7, ElementType::F32, 0, 0, {shared(4), whole(3)}, false});
  const PlannedExchange &call = findExchange(desc.data(), onDevice(0));
  EXPECT_EQ(call.id, 7);
  ASSERT_EQ(call.sends.list.size(), 1u);
  ASSERT_EQ(call.receives.list.size(), 1u);
  // Its last row, number 1 of 2, to the first of the other's.
  const Message &send = call.sends.list[0];
  EXPECT_FALSE(send.staged);
  EXPECT_EQ(send.rank, 1);
  EXPECT_EQ(send.at, 3);
  EXPECT_EQ(send.count, 3);
  // Row 2 of the tensor is row 3 of the window from -1 on.
  const Message &receive = call.receives.list[0];
  EXPECT_FALSE(receive.staged);
  EXPECT_EQ(receive.at, 9);
  EXPECT_EQ(receive.count, 3);
  EXPECT_EQ(call.sends.stagedElements, 0);
  EXPECT_THAT(call.sends.staged, IsEmpty());
  EXPECT_THAT(call.localFrom, ElementsAre(0, 0));
  EXPECT_THAT(call.localTo, ElementsAre(1, 0));
  EXPECT_THAT(call.localExtent, ElementsAre(2, 3));
}

TEST(ExchangeMessages, ColumnsAreStagedOnBothSides) {
  // [3, 4] over columns, the same windows.
  static const std::vector<int64_t> desc = encode(
      ExchangeCall{7, ElementType::F32, 0, 0, {whole(3), shared(4)}, false});
  const PlannedExchange &call = findExchange(desc.data(), onDevice(0));
  ASSERT_EQ(call.sends.staged.size(), 1u);
  EXPECT_THAT(call.sends.staged[0].box.begin, ElementsAre(0, 1));
  EXPECT_THAT(call.sends.staged[0].box.extent, ElementsAre(3, 1));
  EXPECT_EQ(call.sends.stagedElements, 3);
  EXPECT_TRUE(call.sends.list[0].staged);
  EXPECT_EQ(call.sends.list[0].at, 0);
  ASSERT_EQ(call.receives.staged.size(), 1u);
  EXPECT_THAT(call.receives.staged[0].box.begin, ElementsAre(0, 3));
  EXPECT_EQ(call.receives.list[0].count, 3);
}

TEST(ExchangeMessages, ADescriptorIsReadOnce) {
  static const std::vector<int64_t> desc =
      encode(ExchangeCall{1, ElementType::F32, 0, 0, {shared(2)}, false});
  Topology topology = onDevice(1);
  EXPECT_EQ(&findExchange(desc.data(), topology),
            &findExchange(desc.data(), topology));
}

} // namespace

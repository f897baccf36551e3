// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which messages of an exchange go through staging memory.

#include "Collectives/ExchangeMessages.h"

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
  static const std::vector<int64_t> desc =
      encode(ExchangeCall{7, ElementType::F32, 0, 0, {shared(4), whole(3)}});
  const PlannedExchange &plan = findExchange(desc.data(), onDevice(0));
  EXPECT_EQ(plan.call.id, 7);
  ASSERT_EQ(plan.sends.list.size(), 1u);
  ASSERT_EQ(plan.receives.list.size(), 1u);
  // Its last row, number 1 of 2, to the first of the other's.
  const Message &send = plan.sends.list[0];
  EXPECT_FALSE(send.staged);
  EXPECT_EQ(send.rank, 1);
  EXPECT_EQ(send.at, 3);
  EXPECT_EQ(send.count, 3);
  // Row 2 of the tensor is row 3 of the window from -1 on.
  const Message &receive = plan.receives.list[0];
  EXPECT_FALSE(receive.staged);
  EXPECT_EQ(receive.at, 9);
  EXPECT_EQ(receive.count, 3);
  EXPECT_EQ(plan.sends.stagedElements, 0);
  EXPECT_THAT(plan.sends.staged, IsEmpty());
  EXPECT_THAT(plan.localFrom, ElementsAre(0, 0));
  EXPECT_THAT(plan.localTo, ElementsAre(1, 0));
  EXPECT_THAT(plan.localExtent, ElementsAre(2, 3));
}

TEST(ExchangeMessages, ColumnsAreStagedOnBothSides) {
  // [3, 4] over columns, the same windows.
  static const std::vector<int64_t> desc =
      encode(ExchangeCall{7, ElementType::F32, 0, 0, {whole(3), shared(4)}});
  const PlannedExchange &plan = findExchange(desc.data(), onDevice(0));
  ASSERT_EQ(plan.sends.staged.size(), 1u);
  EXPECT_THAT(plan.sends.staged[0].box.begin, ElementsAre(0, 1));
  EXPECT_THAT(plan.sends.staged[0].box.extent, ElementsAre(3, 1));
  EXPECT_EQ(plan.sends.stagedElements, 3);
  EXPECT_TRUE(plan.sends.list[0].staged);
  EXPECT_EQ(plan.sends.list[0].at, 0);
  ASSERT_EQ(plan.receives.staged.size(), 1u);
  EXPECT_THAT(plan.receives.staged[0].box.begin, ElementsAre(0, 3));
  EXPECT_EQ(plan.receives.list[0].count, 3);
}

/// A device of ["x" = 2, "y" = 2].
Topology onDeviceOfFour(int64_t rank) {
  Topology topology;
  topology.setUp({Mesh("m", {{"x", 2}, {"y", 2}}, {})}, rank);
  return topology;
}

TEST(ExchangeMessages, OnlyPartsThatAreSentAreStaged) {
  // [5, 4], columns over "x". All want columns 0 to 2, along "y" of row 4 or of
  // rows 0 to 3. The two holders of columns 2 and 3 are asked for 1 and for 4
  // elements of column 2: the first sends the 1, which lies dense, and half of
  // the 4.
  Axes x = {{0, 1, 2}}, y = {{1, 1, 2}};
  ExchangeCall call{0,
                    ElementType::F32,
                    0,
                    0,
                    {{5, -4, 4, 1, 4, {}, y}, {4, 0, 0, 1, 3, x, {}}}};
  PlannedExchange plan = planMessages(call, onDeviceOfFour(2));
  EXPECT_EQ(plan.sent, 3);
  EXPECT_EQ(plan.sends.stagedElements, 2);
}

TEST(ExchangeMessages, PartsOfOneBoxShareTheirPlace) {
  // [3, 8], columns over all devices, who want columns 1 to 3: the first sends
  // its column 1 to three of them.
  Axes both = {{0, 1, 2}, {1, 1, 2}};
  ExchangeCall call{
      0, ElementType::F32, 0, 0, {whole(3), {8, 0, 1, 1, 3, both, {}}}};
  PlannedExchange plan = planMessages(call, onDeviceOfFour(0));
  EXPECT_EQ(plan.sent, 9);
  EXPECT_EQ(plan.sends.stagedElements, 3);
}

TEST(ExchangeMessages, ADescriptorIsReadOnce) {
  static const std::vector<int64_t> desc =
      encode(ExchangeCall{1, ElementType::F32, 0, 0, {shared(2)}});
  Topology topology = onDevice(1);
  EXPECT_EQ(&findExchange(desc.data(), topology),
            &findExchange(desc.data(), topology));
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/DeviceOrders.h"
#include "ProgramBuilder.h"
#include "gtest/gtest.h"

using namespace shoal;
using namespace shoal::testing;

namespace {

/// Programs over two orders of four devices.
struct TwoOrders : ProgramBuilder {
  TwoOrders() : ProgramBuilder(makeMesh({{"x", 4}})) {
    problem.deviceOrders = {{}, {1, 0, 3, 2}};
  }
  Value argumentIn(unsigned order, Shape shape) {
    Value value = argument(shape, closed({{0}}));
    problem.ops.back().deviceOrder = order;
    return value;
  }
  void resultIn(unsigned order, Value value) {
    result(value, closed({{0}}));
    problem.ops.back().deviceOrder = order;
  }
  /// Of the op that makes the value.
  unsigned orderOf(Value value) const {
    for (const AssignmentProblem::Op &op : problem.ops)
      if (llvm::is_contained(op.results, value))
        return op.deviceOrder;
    return ~0u;
  }
};

} // namespace

TEST(DeviceOrders, OpsFollowTheirData) {
  TwoOrders b;
  auto x = b.argumentIn(1, {8});
  auto y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  auto z = b.elementwise({y}, ProgramBuilder::Nonlinear);
  b.result(z);
  chooseDeviceOrders(b.problem);
  EXPECT_EQ(b.orderOf(y), 1u);
  EXPECT_EQ(b.orderOf(z), 1u);
  EXPECT_EQ(b.problem.ops.back().deviceOrder, 1u) << "a free result stays";
}

TEST(DeviceOrders, WhatIsMadeOfNothingIsMadeWhereItIsUsed) {
  TwoOrders b;
  auto x = b.argumentIn(1, {8});
  auto numbers = b.constant({8});
  auto scaled = b.elementwise({numbers}, ProgramBuilder::Nonlinear);
  b.resultIn(1, b.elementwise({x, scaled}, ProgramBuilder::Nonlinear));
  chooseDeviceOrders(b.problem);
  EXPECT_EQ(b.orderOf(numbers), 1u);
  EXPECT_EQ(b.orderOf(scaled), 1u);
}

TEST(DeviceOrders, TheSmallerOperandMoves) {
  for (unsigned order : {0u, 1u}) {
    TwoOrders b;
    auto large = b.argumentIn(order, {8, 8});
    auto small = b.argumentIn(1 - order, {8});
    auto wide = b.broadcast(small, /*dim=*/1, 8);
    auto same = b.elementwise({wide}, ProgramBuilder::Nonlinear);
    auto both = b.elementwise({large, same}, ProgramBuilder::Nonlinear);
    b.result(both);
    chooseDeviceOrders(b.problem);
    EXPECT_EQ(b.orderOf(both), order);
    EXPECT_EQ(b.orderOf(same), order);
    EXPECT_EQ(b.orderOf(wide), order) << "it is made behind the change";
    EXPECT_EQ(b.orderOf(small), 1 - order) << "an annotation stays";
  }
}

TEST(DeviceOrders, PartsForOneDeviceStay) {
  TwoOrders b;
  auto x = b.argumentIn(1, {8});
  auto y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  b.problem.ops.back().manualAxes = {0};
  b.resultIn(1, y);
  chooseDeviceOrders(b.problem);
  EXPECT_EQ(b.orderOf(y), 0u);
}

TEST(DeviceOrders, OneOrderIsKept) {
  TwoOrders b;
  b.problem.deviceOrders.pop_back();
  auto y = b.elementwise({b.argument({8})}, ProgramBuilder::Nonlinear);
  b.problem.ops.back().deviceOrder = 0;
  b.result(y);
  chooseDeviceOrders(b.problem);
  EXPECT_EQ(b.orderOf(y), 0u);
}

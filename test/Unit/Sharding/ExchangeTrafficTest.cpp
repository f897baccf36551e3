// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's count of an exchange against the runtime's plans for all
// devices: these send and receive as much, and stage no more.

#include "Collectives/ExchangeMessages.h"
#include "shoal/Calls/CollectiveScratch.h"
#include "shoal/Sharding/ExchangeCost.h"
#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>
#include <numeric>
#include <random>

using namespace shoal;
using calls::Axes;
using calls::ExchangeCall;
using calls::ExchangeDim;
using rt::PlannedExchange;
using testing::Eq;
using testing::Le;

namespace {

std::mt19937 rng(1);

int64_t draw(int64_t count) { return static_cast<int64_t>(rng() % count); }

BlockLayout layoutOf(const ExchangeCall &call, const rt::Mesh &mesh,
                     Axes ExchangeDim::*axes) {
  BlockLayout layout;
  layout.deviceIds = mesh.deviceIds();
  for (const ExchangeDim &dim : call.dims) {
    auto &digits = layout.dims.emplace_back();
    for (const calls::SubAxis &axis : dim.*axes)
      digits.push_back({mesh.weight(axis), axis.size});
  }
  return layout;
}

ExchangeTraffic trafficOf(const ExchangeCall &call,
                          llvm::ArrayRef<rt::Mesh> meshes) {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<RowWindow> windows;
  for (const ExchangeDim &dim : call.dims) {
    shape.push_back(dim.size);
    windows.push_back({dim.step, dim.offset, dim.divisor, dim.rows});
  }
  const rt::Mesh &source = meshes[call.sourceMesh];
  const rt::Mesh &target = meshes[call.targetMesh];
  return exchangeTraffic(shape, source.numDevices(),
                         layoutOf(call, source, &ExchangeDim::source),
                         layoutOf(call, target, &ExchangeDim::target), windows);
}

/// The most of any of the ranks: what their plans send and receive, and stage
/// of it.
struct Planned {
  int64_t sent = 0, received = 0, packed = 0, staged = 0;

  Planned(const ExchangeCall &call, const std::vector<rt::Mesh> &meshes,
          llvm::ArrayRef<int64_t> ranks) {
    for (int64_t rank : ranks) {
      rt::Topology topology;
      topology.setUp(meshes, rank);
      PlannedExchange plan = planMessages(call, topology);
      sent = std::max(sent, plan.sent);
      received = std::max(received, plan.received);
      packed = std::max(packed, plan.sends.stagedElements);
      staged = std::max(staged, plan.receives.stagedElements);
    }
  }
};

std::vector<int64_t> firstNumbers(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// A mesh of 12 devices.
rt::Mesh drawMesh() {
  constexpr int64_t sizes[][3] = {{12, 1, 1}, {2, 6, 1}, {3, 4, 1},
                                  {4, 3, 1},  {2, 2, 3}, {3, 2, 2}};
  const auto &drawn = sizes[draw(std::size(sizes))];
  std::vector<rt::MeshAxis> axes;
  for (int64_t size : drawn)
    axes.push_back({"x", size});
  std::vector<int64_t> ids;
  if (draw(3) == 0) {
    ids = firstNumbers(12);
    std::shuffle(ids.begin(), ids.end(), rng);
  }
  return {"mesh", axes, ids};
}

/// Disjoint (sub-)axes of the mesh, some of them, for each of `rank` dims.
std::vector<Axes> drawAxes(const rt::Mesh &mesh, int64_t rank) {
  std::vector<Axes> dims(rank);
  for (auto [axis, size] : llvm::enumerate(mesh.axes())) {
    auto number = static_cast<int64_t>(axis);
    int64_t n = size.size, major = n % 2 == 0 && draw(2) == 0 ? 2 : 1;
    for (calls::SubAxis part :
         {calls::SubAxis{number, 1, major}, {number, major, n / major}})
      if (int64_t dim = draw(rank + 1); dim < rank && part.size > 1)
        dims[dim].push_back(part);
  }
  return dims;
}

/// Windows with any slope, which may overlap or lie outside, or the blocks of
/// another division.
ExchangeDim drawDim(const Axes &source, const Axes &target) {
  int64_t size = draw(10);
  if (draw(3) == 0) {
    int64_t rows = calls::ceilDiv(size, calls::shardCount(target));
    return {size, rows, 0, 1, rows, source, target};
  }
  return {size,    draw(13) - 6, draw(21) - 10, 1 + draw(3),
          draw(9), source,       target};
}

TEST(ExchangeTraffic, is_that_of_the_busiest_device_and_bounds_what_is_staged) {
  for (int round = 0; round < 20000; ++round) {
    std::vector<rt::Mesh> meshes = {drawMesh(), drawMesh()};
    int64_t rank = 1 + draw(3);
    ExchangeCall call;
    call.targetMesh = draw(2);
    std::vector<Axes> source = drawAxes(meshes[0], rank);
    std::vector<Axes> target = draw(3) == 0 && call.targetMesh == 0
                                   ? source // a halo, as of a convolution
                                   : drawAxes(meshes[call.targetMesh], rank);
    for (int64_t d = 0; d < rank; ++d)
      call.dims.push_back(drawDim(source[d], target[d]));
    ExchangeTraffic traffic = trafficOf(call, meshes);
    Planned planned(call, meshes, firstNumbers(12));
    ASSERT_THAT(traffic.sent, Eq(planned.sent)) << "round " << round;
    ASSERT_THAT(traffic.received, Eq(planned.received)) << "round " << round;
    ASSERT_THAT(planned.packed, Le(traffic.packed)) << "round " << round;
    ASSERT_THAT(planned.staged, Le(traffic.received)) << "round " << round;
    if (isDense(call)) {
      ASSERT_THAT(planned.packed + planned.staged, Eq(0)) << "round " << round;
    }
  }
}

/// Columns over all devices, of which each gets `more` more on both sides.
ExchangeCall haloOver(int64_t devices, int64_t block, int64_t more) {
  Axes all = {{0, 1, devices}};
  ExchangeCall call;
  call.dims = {{3, 0, 0, 1, 3, {}, {}},
               {devices * block, block, -more, 1, block + 2 * more, all, all}};
  return call;
}

TEST(ExchangeTraffic, of_a_halo_is_its_columns) {
  EXPECT_EQ(trafficOf(haloOver(64, 100, 2), rt::Mesh("mesh", {{"x", 64}}, {})),
            (ExchangeTraffic{12, 12, 12}));
}

TEST(ExchangeTraffic, of_devices_in_another_order_is_the_same) {
  std::vector<int64_t> ids = firstNumbers(64);
  std::reverse(ids.begin(), ids.end());
  EXPECT_EQ(trafficOf(haloOver(64, 100, 2), rt::Mesh("mesh", {{"x", 64}}, ids)),
            (ExchangeTraffic{12, 12, 12}));
}

/// Each of 65,536 devices has a square, and gets a row and a column more on
/// both sides: no more devices have to be looked at than lie along one side.
TEST(ExchangeTraffic, of_dims_with_axes_of_their_own_is_counted_apart) {
  ExchangeCall call;
  for (int64_t axis : {0, 1})
    call.dims.push_back(
        {1024, 4, -1, 1, 6, {{axis, 1, 256}}, {{axis, 1, 256}}});
  EXPECT_EQ(trafficOf(call, rt::Mesh("mesh", {{"x", 256}, {"y", 256}}, {})),
            (ExchangeTraffic{6 * 6 - 4 * 4, 6 * 6 - 4 * 4, 6 * 6 - 4 * 4}));
}

TEST(ExchangeTraffic, of_more_devices_than_are_counted_is_bounded) {
  constexpr int64_t devices = 20000;
  std::vector<rt::Mesh> meshes = {rt::Mesh("mesh", {{"x", devices}}, {})};
  for (int64_t more : {0, 1, 7}) {
    ExchangeCall call = haloOver(devices, 5, more);
    ExchangeTraffic traffic = trafficOf(call, meshes);
    Planned planned(call, meshes, {0, 1, 2, 777, devices - 2, devices - 1});
    EXPECT_THAT(planned.sent, Le(traffic.sent));
    EXPECT_THAT(planned.packed, Le(traffic.packed));
    EXPECT_THAT(planned.received, Le(traffic.received));
  }
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardPrices.h"
#include "Keys.h"
#include "ReshardTable.h"
#include "shoal/Sharding/Assignment.h"

using namespace shoal;
using namespace shoal::assignment;

ReshardPrices::ReshardPrices() = default;
ReshardPrices::~ReshardPrices() = default;

/// No order is that of the mesh.
static std::string keyOf(const AssignmentProblem &problem) {
  std::string key;
  addToKey(uint32_t(problem.mesh.axes.size()), key);
  for (const MeshAxis &axis : problem.mesh.axes) {
    addToKey(axis.pre, key);
    addToKey(axis.size, key);
    addToKey(axis.fullSize, key);
  }
  if (problem.deviceOrders.empty())
    addListToKey(problem.mesh.deviceIds, key);
  for (const std::vector<int64_t> &order : problem.deviceOrders)
    addListToKey(order, key);
  return key;
}

ReshardTable &ReshardPrices::over(const AssignmentProblem &problem) {
  std::lock_guard lock(mutex);
  std::unique_ptr<ReshardTable> &table = tables[keyOf(problem)];
  if (!table)
    table = std::make_unique<ReshardTable>();
  return *table;
}

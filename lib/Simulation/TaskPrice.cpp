// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TaskPrice.h"

using namespace shoal;
using support::Result;

double shoal::loadOf(const Task &task, const SimulationOptions &options) {
  return task.isRagged ? std::min(1.0, task.filled * options.imbalance) : 1;
}

/// Each byte is read once and written once.
Picoseconds shoal::packingOf(const CollectiveWork &work, const Chip &chip) {
  return work.packedBytes > 0 ? priceKernel(chip, 2 * work.packedBytes).time
                              : 0;
}

static Result<GroupCounts> countsOf(const CollectiveWork &collective,
                                    const Cluster &cluster) {
  if (collective.groups.empty())
    return countMembers(cluster, collective.axes);
  return countListedMembers(cluster, collective.groups);
}

Result<Price> shoal::priceTask(const Task &task, const Cluster &cluster,
                               const SimulationOptions &options) {
  if (auto *product = std::get_if<ProductWork>(&task.work))
    return priceProduct(cluster.chip, product->type, product->shape, task.bytes,
                        loadOf(task, options));
  if (auto *kernel = std::get_if<KernelWork>(&task.work))
    return priceKernel(cluster.chip, task.bytes, kernel->operations,
                       kernel->indexedRows);
  auto &collective = std::get<CollectiveWork>(task.work);
  Result<GroupCounts> counts = countsOf(collective, cluster);
  if (!counts)
    return counts.error();
  double load = task.isRagged ? options.imbalance : 1;
  return priceCollective(cluster, collective.kind, *counts,
                         std::llround(load * task.bytes));
}

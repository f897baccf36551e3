// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Simulation/OpPrices.h"
#include "TaskPrice.h"
#include "TaskReader.h"

using namespace mlir;
using namespace shoal;

std::optional<Price> OpPrices::priceOf(Operation *op) const {
  TaskReader reader(op->getParentOfType<ModuleOp>(), program, onDevice);
  Task task = reader.read(op);
  support::Result<Price> price = priceTask(task, cluster, {});
  if (!price)
    return std::nullopt;
  if (auto *collective = std::get_if<CollectiveWork>(&task.work))
    price->time += packingOf(*collective, cluster.chip);
  return *price;
}

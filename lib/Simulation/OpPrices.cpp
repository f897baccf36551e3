// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Simulation/OpPrices.h"
#include "TaskPrice.h"
#include "TaskReader.h"

using namespace mlir;
using namespace shoal;

std::optional<double> OpPrices::secondsOf(Operation *op) const {
  TaskReader reader(op->getParentOfType<ModuleOp>(), program, onDevice);
  Task task = reader.read(op);
  support::Result<Price> price = priceTask(task, cluster, {});
  if (!price)
    return std::nullopt;
  Picoseconds time = price->time;
  if (auto *collective = std::get_if<CollectiveWork>(&task.work))
    time += packingOf(*collective, cluster.chip);
  return inSeconds(time);
}

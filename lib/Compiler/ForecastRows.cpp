// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ForecastRows.h"

using namespace shoal;

static const char *nameOf(Bound bound) {
  switch (bound) {
  case Bound::Flops:
    return "operations";
  case Bound::Memory:
    return "memory";
  case Bound::Launch:
    return "launch";
  case Bound::Latency:
    return "latency";
  case Bound::Link:
    return "link";
  }
  llvm_unreachable("no such bound");
}

static void addWork(const KernelWork &work, llvm::json::Object &row) {
  row["operations"] = work.operations;
  row["indexed_rows"] = work.indexedRows;
}

static void addWork(const ProductWork &work, llvm::json::Object &row) {
  const ProductShape &shape = work.shape;
  row["type"] = work.type;
  row["shape"] = llvm::json::Array{shape.batch, shape.m, shape.n, shape.k};
}

static void addWork(const CollectiveWork &work, llvm::json::Object &row) {
  row["axes"] = work.axesText;
  row["is_async"] = work.isAsync;
}

static llvm::json::Object rowOf(const SimulatedTask &each,
                                const Cluster &cluster) {
  const auto &[task, price, start, runs] = each;
  llvm::json::Object row{{"name", task.name},
                         {"place", task.place},
                         {"layer", task.layer},
                         {"bytes", task.bytes},
                         {"seconds", inSeconds(price.time)},
                         {"start", inSeconds(start)},
                         {"runs", runs},
                         {"bound", nameOf(price.bound)}};
  if (price.level >= 0)
    row["level"] = cluster.levels[price.level].name;
  std::visit([&](const auto &work) { addWork(work, row); }, task.work);
  return row;
}

llvm::json::Object shoal::withRows(const Forecast &forecast) {
  llvm::json::Array rows;
  for (const SimulatedTask &each : forecast.step.tasks)
    rows.push_back(rowOf(each, forecast.cluster));
  llvm::json::Array unknown;
  for (const std::string &place : forecast.step.unknownLoops)
    unknown.push_back(place);
  llvm::json::Object object = toJson(forecast);
  object["rows"] = std::move(rows);
  object["unknown_loops"] = std::move(unknown);
  return object;
}

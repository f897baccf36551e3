// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Totals.h"

using namespace shoal;

static llvm::json::Object toJson(const Totals &totals) {
  llvm::json::Object object;
  for (auto &[name, seconds] : totals)
    object[llvm::json::fixUTF8(name)] = seconds;
  return object;
}

static llvm::json::Array listTimes(const Forecast &forecast) {
  llvm::json::Array list;
  for (auto &[number, time] : timesOfCollectives(forecast))
    list.push_back(llvm::json::Object{
        {"number", number}, {"seconds", time.seconds}, {"bound", time.bound}});
  return list;
}

static llvm::json::Array listUnknownLoops(const SimulatedStep &step) {
  llvm::json::Array places;
  for (const SimulatedLoop &loop : step.loops)
    if (!loop.isKnown)
      places.push_back(llvm::json::fixUTF8(loop.place));
  return places;
}

/// Pairs of a layer and bytes.
static llvm::json::Array listHeld(const Forecast &forecast) {
  llvm::json::Array list;
  for (const HeldAt &each : forecast.held)
    list.push_back(
        llvm::json::Array{llvm::json::fixUTF8(each.layer), each.bytes});
  return list;
}

static void addWork(const KernelWork &work, llvm::json::Object &task) {
  task["operations"] = work.operations;
  task["indexed_rows"] = work.indexedRows;
}

static void addWork(const ProductWork &work, llvm::json::Object &task) {
  const ProductShape &shape = work.shape;
  task["type"] = work.type;
  task["shape"] = llvm::json::Array{shape.batch, shape.m, shape.n, shape.k};
}

static void addWork(const CollectiveWork &work, llvm::json::Object &task) {
  task["axes"] = llvm::json::fixUTF8(work.axesText);
  task["is_async"] = work.isAsync;
}

static llvm::json::Object toJson(const SimulatedTask &each,
                                 const Cluster &cluster) {
  Price price = each.price;
  llvm::json::Object task{{"name", each.task.name},
                          {"place", llvm::json::fixUTF8(each.task.place)},
                          {"layer", llvm::json::fixUTF8(each.task.layer)},
                          {"bytes", each.task.bytes},
                          {"seconds", inSeconds(price.time)},
                          {"start", inSeconds(each.start)},
                          {"runs", each.runs}};
  if (price.level >= 0)
    task["level"] = llvm::json::fixUTF8(cluster.levels[price.level].name);
  price.level = -1;
  task["bound"] = boundOf(price, cluster);
  std::visit([&](const auto &work) { addWork(work, task); }, each.task.work);
  return task;
}

/// In program order.
static llvm::json::Array listTasks(const Forecast &forecast) {
  llvm::json::Array list;
  for (const SimulatedTask &task : forecast.step.tasks)
    list.push_back(::toJson(task, forecast.cluster));
  return list;
}

llvm::json::Object shoal::toJson(const Forecast &forecast) {
  const SimulatedStep &step = forecast.step;
  return llvm::json::Object{
      {"machine", llvm::json::fixUTF8(forecast.cluster.name)},
      {"source", llvm::json::fixUTF8(forecast.cluster.source)},
      {"devices", forecast.devices},
      {"step_seconds", inSeconds(step.time)},
      {"balanced_seconds", inSeconds(forecast.balancedTime)},
      {"imbalance", forecast.options.imbalance},
      {"exposed_seconds", inSeconds(step.exposed)},
      {"waiting_seconds", inSeconds(step.waiting)},
      {"packing_seconds", packingSeconds(forecast)},
      {"overlap_tax_seconds", inSeconds(step.taxed)},
      {"product_flops", step.productFlops},
      {"mfu", utilisation(forecast)},
      {"peak_bytes", forecast.peakBytes},
      {"held", listHeld(forecast)},
      {"seconds_by_kind", ::toJson(sumByKind(forecast))},
      {"seconds_by_bound", ::toJson(sumByBound(forecast))},
      {"seconds_by_axes", ::toJson(sumByAxes(forecast))},
      {"seconds_by_level", ::toJson(sumByLevel(forecast))},
      {"collectives", listTimes(forecast)},
      {"unknown_loops", listUnknownLoops(step)},
      {"tasks", listTasks(forecast)},
  };
}

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
      {"seconds_by_kind", ::toJson(sumByKind(forecast))},
      {"seconds_by_bound", ::toJson(sumByBound(forecast))},
      {"seconds_by_axes", ::toJson(sumByAxes(forecast))},
      {"seconds_by_level", ::toJson(sumByLevel(forecast))},
      {"collectives", listTimes(forecast)},
      {"unknown_loops", listUnknownLoops(step)},
  };
}

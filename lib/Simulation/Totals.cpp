// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Totals.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shoal;

double shoal::secondsOf(const SimulatedTask &task) {
  return inSeconds(task.end - task.start) * static_cast<double>(task.runs);
}

std::string shoal::kindOf(const Task &task) {
  if (auto *collective = std::get_if<CollectiveWork>(&task.work))
    return task.name + " over " + collective->axesText;
  return task.name;
}

std::string shoal::boundOf(const Price &price, const Cluster &cluster) {
  auto of = [&](const char *what) {
    return price.level < 0 ? std::string(what)
                           : what + (" of " + cluster.levels[price.level].name);
  };
  switch (price.bound) {
  case Bound::Flops:
    return "operations";
  case Bound::Memory:
    return "memory";
  case Bound::Launch:
    return "launch";
  case Bound::Latency:
    return of("latency");
  case Bound::Link:
    return of("link");
  }
  llvm_unreachable("no such bound");
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Seconds by a key of the tasks; of those without one none.
template <typename Key>
static Totals sumBy(const Forecast &forecast, Key key) {
  llvm::MapVector<std::string, double, llvm::StringMap<unsigned>> sums;
  for (const SimulatedTask &task : forecast.step.tasks)
    if (std::optional<std::string> name = key(task))
      sums[*name] += secondsOf(task);
  Totals totals(sums.begin(), sums.end());
  llvm::sort(totals, [](const auto &a, const auto &b) {
    return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
  });
  return totals;
}

Totals shoal::sumByKind(const Forecast &forecast) {
  return sumBy(forecast, [](const SimulatedTask &each) {
    return std::optional(kindOf(each.task));
  });
}

Totals shoal::sumByBound(const Forecast &forecast) {
  return sumBy(forecast, [&](const SimulatedTask &each) {
    return std::optional(boundOf(each.price, forecast.cluster));
  });
}

Totals shoal::sumByAxes(const Forecast &forecast) {
  return sumBy(
      forecast, [](const SimulatedTask &each) -> std::optional<std::string> {
        auto *work = std::get_if<CollectiveWork>(&each.task.work);
        if (!work)
          return std::nullopt;
        return work->roles.empty() ? work->axesText
                                   : work->axesText + ", " + work->roles;
      });
}

/// The outermost level of which a group has several members; its groups were
/// alike when they were priced.
static std::optional<std::string> levelOf(const CollectiveWork &work,
                                          const Cluster &cluster) {
  GroupCounts counts =
      work.groups.empty()
          ? countMembers(cluster, work.axes)
          : *countListedMembers(cluster,
                                llvm::ArrayRef(work.groups).take_front());
  for (size_t level = counts.size(); level-- > 0;)
    if (counts[level] > 1)
      return cluster.levels[level].name;
  return std::nullopt;
}

Totals shoal::sumByLevel(const Forecast &forecast) {
  return sumBy(forecast,
               [&](const SimulatedTask &each) -> std::optional<std::string> {
                 auto *work = std::get_if<CollectiveWork>(&each.task.work);
                 return work ? levelOf(*work, forecast.cluster) : std::nullopt;
               });
}

double shoal::packingSeconds(const Forecast &forecast) {
  double seconds = 0;
  for (const SimulatedTask &each : forecast.step.tasks)
    seconds += inSeconds(each.packing) * static_cast<double>(each.runs);
  return seconds;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Sums by a number of the tasks; of those without one none.
template <typename Number>
static std::map<int64_t, OpTime> timesBy(const Forecast &forecast,
                                         Number numberOf) {
  std::map<int64_t, OpTime> times;
  std::map<int64_t, double> longest;
  for (const SimulatedTask &each : forecast.step.tasks) {
    std::optional<int64_t> number = numberOf(each.task);
    if (!number)
      continue;
    double seconds = secondsOf(each);
    times[*number].seconds += seconds;
    auto [most, isFirst] = longest.try_emplace(*number, seconds);
    if (isFirst || seconds > most->second) {
      most->second = seconds;
      times[*number].bound = boundOf(each.price, forecast.cluster);
    }
  }
  return times;
}

std::map<int64_t, OpTime> shoal::timesOfOps(const Forecast &forecast) {
  return timesBy(forecast, [](const Task &task) { return task.op; });
}

std::map<int64_t, OpTime> shoal::timesOfCollectives(const Forecast &forecast) {
  return timesBy(forecast, [](const Task &task) -> std::optional<int64_t> {
    auto *work = std::get_if<CollectiveWork>(&task.work);
    return work ? std::optional(work->number) : std::nullopt;
  });
}

//===----------------------------------------------------------------------===//
// Utilisation
//===----------------------------------------------------------------------===//

/// Of the element type that most products are of.
static double peakFlops(const Forecast &forecast) {
  std::map<std::string, double> flops;
  for (const SimulatedTask &each : forecast.step.tasks)
    if (auto *product = std::get_if<ProductWork>(&each.task.work))
      flops[product->type] += secondsOf(each);
  if (flops.empty())
    return 0;
  auto most = llvm::max_element(flops, llvm::less_second());
  return peakOf(forecast.cluster.chip, most->first);
}

double shoal::utilisation(const Forecast &forecast) {
  double most =
      peakFlops(forecast) * forecast.devices * inSeconds(forecast.step.time);
  return most > 0 ? forecast.globalProductFlops / most : 0;
}

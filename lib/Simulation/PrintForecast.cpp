// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Simulation/Simulate.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace shoal;
using llvm::formatv;
using llvm::StringRef;

static double secondsOf(const SimulatedTask &task) {
  return inSeconds(task.price.time) * static_cast<double>(task.runs);
}

/// "all_to_all over {"ep"}", or the op's name.
static std::string kindOf(const Task &task) {
  if (auto *collective = std::get_if<CollectiveWork>(&task.work))
    return task.name + " over " + collective->axesText;
  return task.name;
}

static std::string boundOf(const Price &price, const Cluster &cluster) {
  auto level = [&] { return cluster.levels[price.level].name; };
  switch (price.bound) {
  case Bound::Flops:
    return "operations";
  case Bound::Memory:
    return "memory";
  case Bound::Launch:
    return "launch";
  case Bound::Latency:
    return price.level < 0 ? "latency" : "latency of " + level();
  case Bound::Link:
    return price.level < 0 ? "link" : "link of " + level();
  }
  llvm_unreachable("no such bound");
}

/// Seconds in the unit that leaves one to four digits.
static std::string timeText(double seconds) {
  for (auto [unit, scale] : {std::pair("s", 1.0), {"ms", 1e-3}, {"us", 1e-6}})
    if (seconds >= scale)
      return formatv("{0:f2} {1}", seconds / scale, unit);
  return formatv("{0:f1} ns", seconds / 1e-9);
}

static std::string sizeText(double bytes) {
  for (auto [unit, scale] : {std::pair("GB", 1e9), {"MB", 1e6}, {"kB", 1e3}})
    if (bytes >= scale)
      return formatv("{0:f2} {1}", bytes / scale, unit);
  return formatv("{0} bytes", bytes);
}

static int percentOf(double part, double whole) {
  return whole > 0 ? std::lround(100 * part / whole) : 0;
}

static std::string fit(StringRef text, size_t width) {
  return text.size() <= width ? text.str()
                              : text.take_front(width - 3).str() + "...";
}

/// Of a path the end tells more.
static std::string fitPath(StringRef text, size_t width) {
  return text.size() <= width ? text.str()
                              : "..." + text.take_back(width - 3).str();
}

//===----------------------------------------------------------------------===//
// Totals
//===----------------------------------------------------------------------===//

using Totals = std::vector<std::pair<std::string, double>>;

/// Seconds by a key of the tasks, most first.
template <typename Key>
static Totals sumBy(const SimulatedStep &step, Key key) {
  llvm::MapVector<std::string, double, llvm::StringMap<unsigned>> sums;
  for (const SimulatedTask &task : step.tasks)
    sums[key(task)] += secondsOf(task);
  Totals totals(sums.begin(), sums.end());
  llvm::sort(totals, [](const auto &a, const auto &b) {
    return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
  });
  return totals;
}

static Totals sumByKind(const SimulatedStep &step) {
  return sumBy(step,
               [](const SimulatedTask &each) { return kindOf(each.task); });
}

static Totals sumByBound(const Forecast &forecast) {
  return sumBy(forecast.step, [&](const SimulatedTask &each) {
    return boundOf(each.price, forecast.cluster);
  });
}

/// Of the element type that most products are of.
static double peakFlops(const Forecast &forecast) {
  std::map<std::string, double> flops;
  for (const SimulatedTask &each : forecast.step.tasks)
    if (auto *product = std::get_if<ProductWork>(&each.task.work))
      flops[product->type] += secondsOf(each);
  if (flops.empty())
    return 0;
  auto most = llvm::max_element(flops, llvm::less_second());
  auto peak = forecast.cluster.chip.flops.find(most->first);
  return peak == forecast.cluster.chip.flops.end() ? 0 : peak->second;
}

/// Model FLOPs utilisation: what the program of all devices multiplies, over
/// what they could. 0 where that is not known.
static double utilisation(const Forecast &forecast) {
  double most =
      peakFlops(forecast) * forecast.devices * inSeconds(forecast.step.time);
  return most > 0 ? forecast.globalProductFlops / most : 0;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printHead(const Forecast &forecast, llvm::raw_ostream &os) {
  const Chip &chip = forecast.cluster.chip;
  double step = inSeconds(forecast.step.time);
  double exposed = inSeconds(forecast.step.exposed);
  os << formatv("{0}, {1} devices: a step takes {2} (simulated)\n",
                forecast.cluster.name, forecast.devices, timeText(step));
  os << formatv("  exposed communication {0}, {1} %\n", timeText(exposed),
                percentOf(exposed, step));
  if (forecast.step.waiting > 0) {
    double waiting = inSeconds(forecast.step.waiting);
    os << formatv("  the device waits {0}, {1} %, for the host to launch\n",
                  timeText(waiting), percentOf(waiting, step));
  }
  if (double share = utilisation(forecast))
    os << formatv("  products at {0:f1} % of the peak (MFU)\n", 100 * share);
  double room = chip.memory - chip.reserved;
  os << formatv("  memory {0} of {1} a device{2}\n",
                sizeText(forecast.peakBytes), sizeText(room),
                forecast.peakBytes > room ? ": it does not fit" : "");
  for (const std::string &place : forecast.step.unknownLoops)
    os << formatv("  the loop at {0} counts once: nobody knows how often it "
                  "runs\n",
                  place.empty() ? "an unknown place" : place);
}

static void printTotals(StringRef title, const Totals &totals, double step,
                        llvm::raw_ostream &os) {
  os << '\n' << title << '\n';
  for (auto &[name, seconds] : totals)
    os << formatv("{0,12} {1,4} %  {2}\n", timeText(seconds),
                  percentOf(seconds, step), fit(name, 76));
}

namespace {

/// Tasks of one op of the source.
struct Line {
  const SimulatedTask *first = nullptr;
  double seconds = 0;
  int64_t runs = 0;
};

} // namespace

static std::vector<Line> dearestLines(const SimulatedStep &step, size_t most) {
  std::map<std::pair<std::string, std::string>, Line> lines;
  for (const SimulatedTask &each : step.tasks) {
    Line &line = lines[{each.task.place + each.task.layer, kindOf(each.task)}];
    if (!line.first)
      line.first = &each;
    line.seconds += secondsOf(each);
    line.runs += each.runs;
  }
  std::vector<Line> sorted;
  for (auto &[key, line] : lines)
    sorted.push_back(line);
  // Equal ones as they begin.
  llvm::sort(sorted, [](const Line &a, const Line &b) {
    return std::tuple(-a.seconds, a.first->start, a.first) <
           std::tuple(-b.seconds, b.first->start, b.first);
  });
  if (sorted.size() > most)
    sorted.resize(most);
  return sorted;
}

static void printLines(const Forecast &forecast, llvm::raw_ostream &os) {
  constexpr size_t kLines = 20;
  double step = inSeconds(forecast.step.time);
  os << "\nthe dearest lines\n";
  for (const Line &line : dearestLines(forecast.step, kLines)) {
    const Task &task = line.first->task;
    StringRef place = task.layer.empty() ? task.place : task.layer;
    os << formatv("{0,12} {1,4} % {2,5}x  {3,-24} {4,-20} {5}\n",
                  timeText(line.seconds), percentOf(line.seconds, step),
                  line.runs, fit(kindOf(task), 24),
                  fit(boundOf(line.first->price, forecast.cluster), 20),
                  fitPath(place, 25));
  }
}

void shoal::printForecast(const Forecast &forecast, llvm::raw_ostream &os) {
  double step = inSeconds(forecast.step.time);
  printHead(forecast, os);
  printTotals("by kind", sumByKind(forecast.step), step, os);
  printTotals("by what bounds it", sumByBound(forecast), step, os);
  printLines(forecast, os);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Object toJson(const Totals &totals) {
  llvm::json::Object object;
  for (auto &[name, seconds] : totals)
    object[name] = seconds;
  return object;
}

/// In program order, as a run's trace has those of the runtime.
static llvm::json::Array tasksOf(const SimulatedStep &step) {
  llvm::json::Array tasks;
  for (const SimulatedTask &each : step.tasks) {
    auto *kernel = std::get_if<KernelWork>(&each.task.work);
    tasks.push_back(
        llvm::json::Object{{"name", each.task.name},
                           {"loc", each.task.place},
                           {"bytes", each.task.bytes},
                           {"operations", kernel ? kernel->operations : 0},
                           {"runs", each.runs},
                           {"seconds", inSeconds(each.price.time)}});
  }
  return tasks;
}

llvm::json::Object shoal::toJson(const Forecast &forecast) {
  return llvm::json::Object{
      {"machine", forecast.cluster.name},
      {"devices", forecast.devices},
      {"step_seconds", inSeconds(forecast.step.time)},
      {"exposed_seconds", inSeconds(forecast.step.exposed)},
      {"waiting_seconds", inSeconds(forecast.step.waiting)},
      {"product_flops", forecast.step.productFlops},
      {"mfu", utilisation(forecast)},
      {"peak_bytes", forecast.peakBytes},
      {"seconds_by_kind", ::toJson(sumByKind(forecast.step))},
      {"seconds_by_bound", ::toJson(sumByBound(forecast))},
      {"tasks", tasksOf(forecast.step)},
  };
}

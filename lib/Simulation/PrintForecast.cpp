// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The page of text.

#include "Totals.h"
#include "shoal/Simulation/Schedules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shoal;
using llvm::formatv;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string shoal::timeText(double seconds) {
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

/// In at most five digits.
static std::string countText(int64_t count) {
  return count < 100000 ? formatv("{0}", count).str()
                        : formatv("{0:e1}", double(count)).str();
}

/// Where something is in the user's program.
static std::string placeText(StringRef place) {
  return place.empty() ? "an unknown place" : fitPath(place, 40);
}

//===----------------------------------------------------------------------===//
// The head
//===----------------------------------------------------------------------===//

static void printPart(StringRef what, double seconds, double step,
                      llvm::raw_ostream &os) {
  if (seconds > 0)
    os << formatv("  {0} {1}, {2} %\n", what, timeText(seconds),
                  percentOf(seconds, step));
}

static void printImbalance(const Forecast &forecast, llvm::raw_ostream &os) {
  double imbalance = forecast.options.imbalance;
  if (imbalance != 1)
    os << formatv(
        "  the most loaded device has {0:f2} times the mean of ragged "
        "work; balanced {1}\n",
        imbalance, timeText(inSeconds(forecast.balancedTime)));
}

static void printMemory(const Forecast &forecast, llvm::raw_ostream &os) {
  const Chip &chip = forecast.cluster.chip;
  double room = chip.memory - chip.reserved;
  os << formatv("  memory {0} of {1} a device{2}\n",
                sizeText(forecast.peakBytes), sizeText(room),
                forecast.peakBytes > room ? ": it does not fit" : "");
}

/// Of each place one line, as programs may have thousands.
static void printUnknownLoops(const SimulatedStep &step,
                              llvm::raw_ostream &os) {
  std::map<std::string, int64_t> places;
  for (const SimulatedLoop &loop : step.loops)
    places[loop.place] += loop.isKnown ? 0 : 1;
  for (auto &[place, count] : places)
    if (count > 0)
      os << formatv("  the loop at {0} counts once: nobody knows how often it "
                    "runs\n",
                    placeText(place));
}

static void printBranches(const SimulatedStep &step, llvm::raw_ostream &os) {
  std::map<std::string, const SimulatedBranch *> places;
  for (const SimulatedBranch &branch : step.branches)
    places.try_emplace(branch.place, &branch);
  for (auto &[place, branch] : places) {
    auto [least, most] =
        std::minmax_element(branch->times.begin(), branch->times.end());
    if (*least < *most)
      os << formatv(
          "  the branch at {0} counts as its longest: {1}, others from "
          "{2}\n",
          placeText(place), timeText(inSeconds(*most)),
          timeText(inSeconds(*least)));
  }
}

/// Loops of the same place are one pipeline, forward and backward.
static void printPipelines(const SimulatedStep &step, llvm::raw_ostream &os) {
  std::map<std::pair<std::string, int64_t>, const SimulatedLoop *> pipelines;
  for (const SimulatedLoop &loop : step.loops)
    if (loop.pipelineDevices > 1)
      pipelines.try_emplace({loop.place, loop.trips}, &loop);
  for (auto &[key, loop] : pipelines) {
    int64_t slots = loop->trips - loop->pipelineDevices + 1;
    os << formatv(
        "  the pipeline at {0}: {1} devices, {2} ticks of {3}, {4} % "
        "of them waiting\n",
        placeText(loop->place), loop->pipelineDevices, loop->trips,
        timeText(inSeconds(loop->end - loop->start) / loop->trips),
        std::lround(100 * bubbleShare({loop->pipelineDevices, slots})));
  }
}

static void printHead(const Forecast &forecast, llvm::raw_ostream &os) {
  const SimulatedStep &simulated = forecast.step;
  double step = inSeconds(simulated.time);
  os << formatv("{0}, {1} devices: a step takes {2} (simulated)\n",
                fit(forecast.cluster.name, 40), forecast.devices,
                timeText(step));
  if (!forecast.cluster.source.empty())
    os << formatv("  numbers from: {0}\n", fit(forecast.cluster.source, 80));
  os << formatv("  exposed communication {0}, {1} %\n",
                timeText(inSeconds(simulated.exposed)),
                percentOf(inSeconds(simulated.exposed), step));
  printPart("packing of collectives", packingSeconds(forecast), step, os);
  printPart("kernels slower beside collectives", inSeconds(simulated.taxed),
            step, os);
  if (simulated.waiting > 0)
    os << formatv("  the device waits {0}, {1} %, for the host to launch\n",
                  timeText(inSeconds(simulated.waiting)),
                  percentOf(inSeconds(simulated.waiting), step));
  if (double share = utilisation(forecast))
    os << formatv("  products at {0:f1} % of the peak (MFU)\n", 100 * share);
  printMemory(forecast, os);
  printImbalance(forecast, os);
  if (forecast.hasOneStream && forecast.cluster.chip.overlaps)
    os << "  the program is one for CPUs, where nothing runs beside "
          "collectives: see --target=cuda\n";
  printPipelines(simulated, os);
  printUnknownLoops(simulated, os);
  printBranches(simulated, os);
}

//===----------------------------------------------------------------------===//
// Totals and lines
//===----------------------------------------------------------------------===//

static void printTotals(StringRef title, const Totals &totals, double step,
                        llvm::raw_ostream &os) {
  if (totals.empty())
    return;
  os << '\n' << title << '\n';
  for (auto &[name, seconds] : totals)
    os << formatv("{0,12} {1,4} %  {2}\n", timeText(seconds),
                  percentOf(seconds, step), fit(name, 76));
}

namespace {

/// Tasks of one op of the source.
struct Line {
  const SimulatedTask *first = nullptr, *longest = nullptr;
  double seconds = 0;
  int64_t runs = 0;
};

} // namespace

static std::vector<Line> dearestLines(const SimulatedStep &step, size_t most) {
  std::map<std::pair<std::string, std::string>, Line> lines;
  for (const SimulatedTask &each : step.tasks) {
    Line &line = lines[{each.task.place + each.task.layer, kindOf(each.task)}];
    if (!line.first)
      line.first = line.longest = &each;
    if (secondsOf(each) > secondsOf(*line.longest))
      line.longest = &each;
    line.seconds += secondsOf(each);
    line.runs += each.runs;
  }
  std::vector<Line> sorted;
  sorted.reserve(lines.size());
  for (auto &[place, line] : lines)
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
                  countText(line.runs), fit(kindOf(task), 24),
                  fit(boundOf(line.longest->price, forecast.cluster), 20),
                  fitPath(place, 25));
  }
}

void shoal::printForecast(const Forecast &forecast, llvm::raw_ostream &os) {
  double step = inSeconds(forecast.step.time);
  printHead(forecast, os);
  printTotals("by kind", sumByKind(forecast), step, os);
  printTotals("by what bounds it", sumByBound(forecast), step, os);
  printTotals("of collectives, by axes", sumByAxes(forecast), step, os);
  printTotals("of collectives, by the outermost level", sumByLevel(forecast),
              step, os);
  printLines(forecast, os);
}

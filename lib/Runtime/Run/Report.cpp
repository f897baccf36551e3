// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report.h"
#include "../Memory/Memory.h"
#include "TextFile.h"
#include "shoal/Support/Threshold.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace shoal::rt {

using nlohmann::json;

/// 0 where the system does not say it.
static double residentBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (double kibibytes = 0; word == "VmHWM:" && status >> kibibytes)
      return kibibytes * 1024;
  return 0;
}

Measurements measure(World &world, std::vector<double> stepSeconds,
                     const Target &target) {
  auto steps = static_cast<double>(stepSeconds.size());
  std::vector<double> values = std::move(stepSeconds);
  for (size_t i = 0; i < numActivities; ++i) {
    const Counters &total = Recorder::get().counters(static_cast<Activity>(i));
    values.push_back(static_cast<double>(total.calls) / steps);
    values.push_back(static_cast<double>(total.bytes) / steps);
    values.push_back(total.seconds / steps);
  }
  values.push_back(static_cast<double>(target.deviceBytes()));
  values.push_back(residentBytes());
  values.push_back(target.threadsPerRank());
  world.maximum(values);

  Measurements result;
  auto next = values.begin() + static_cast<std::ptrdiff_t>(steps);
  result.stepSeconds.assign(values.begin(), next);
  for (Counters &counters : result.perStep) {
    counters.calls = static_cast<int64_t>(*next++);
    counters.bytes = static_cast<int64_t>(*next++);
    counters.seconds = *next++;
  }
  result.peakBytes = *next++;
  result.residentBytes = *next++;
  result.threads = *next;
  return result;
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

static Status writeText(const std::string &path, const std::string &text) {
  TextFile file(path);
  file.stream() << text << '\n';
  return file.keep();
}

Status writeStats(const Program &program, const Measurements &measurements,
                  const std::string &path) {
  auto [least, most] = std::minmax_element(measurements.stepSeconds.begin(),
                                           measurements.stepSeconds.end());
  json bytes = json::object(), counts = json::object();
  double seconds = 0;
  for (size_t i = 0; i < numCollectives; ++i) {
    const Counters &counters = measurements.perStep[i];
    if (counters.calls == 0)
      continue;
    std::string name(activityName(static_cast<Activity>(i)));
    bytes[name] = counters.bytes;
    counts[name] = counters.calls;
    seconds += counters.seconds;
  }
  const Counters &einsum =
      measurements.perStep[static_cast<size_t>(Activity::Einsum)];
  nlohmann::ordered_json root = {
      {"devices", program.devices},
      {"target", program.target},
      {"threads_per_rank", static_cast<int>(measurements.threads)},
      {"step_seconds",
       {{"min", *least},
        {"median", median(measurements.stepSeconds)},
        {"max", *most}}},
      {"peak_bytes_per_device", static_cast<int64_t>(measurements.peakBytes)},
      {"resident_bytes_per_process",
       static_cast<int64_t>(measurements.residentBytes)},
      {"bytes_sent_per_device", bytes},
      {"collectives", counts},
      {"seconds_in", {{"einsum", einsum.seconds}, {"collectives", seconds}}}};
  return writeText(path, root.dump(2));
}

Status writeCensus(const std::string &path) {
  return writeText(path, support::takeSides());
}

static json toJson(const Program &program, const Event &event,
                   Clock::time_point origin, int rank) {
  auto micros = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  json object = {{"name", activityName(event.activity)},
                 {"ph", "X"},
                 {"pid", 0},
                 {"tid", rank},
                 {"ts", micros(event.begin - origin)},
                 {"dur", micros(event.end - event.begin)}};
  if (event.id < 0)
    return object;
  object["args"] = {{"id", event.id}, {"bytes", event.bytes}};
  if (static_cast<size_t>(event.id) < program.collectives.size()) {
    const CollectiveInfo &info = program.collectives[event.id];
    object["args"]["axes"] = info.axes;
    object["args"]["loc"] = info.loc;
    object["args"]["reason"] = info.reason;
  }
  return object;
}

Status writeTrace(World &world, const Program &program,
                  Clock::time_point origin, const std::string &path) {
  json lane = {{"name", "thread_name"},
               {"ph", "M"},
               {"pid", 0},
               {"tid", world.rank()},
               {"args", {{"name", "rank " + std::to_string(world.rank())}}}};
  std::string text = (world.isRoot() ? "" : ",\n") + lane.dump();
  for (const Event &event : Recorder::get().events())
    text += ",\n" + toJson(program, event, origin, world.rank()).dump();
  std::optional<TextFile> file;
  if (world.isRoot())
    file.emplace(path).stream() << "{\"traceEvents\": [\n";
  world.gather(text, [&](std::string_view piece) { file->stream() << piece; });
  if (!file)
    return std::nullopt;
  file->stream() << "\n]}\n";
  return file->keep();
}

std::string summaryText(const Program &program,
                        const Measurements &measurements) {
  int64_t bytes = 0;
  for (size_t i = 0; i < numCollectives; ++i)
    bytes += measurements.perStep[i].bytes;
  char time[64];
  std::snprintf(time, sizeof time, "%.3f ms per step (median of %zu)",
                median(measurements.stepSeconds) * 1e3,
                measurements.stepSeconds.size());
  return program.name + ": " + std::to_string(program.devices) + " devices, " +
         time + ", " + formatBytes(static_cast<double>(bytes)) +
         " sent by a device";
}

} // namespace shoal::rt

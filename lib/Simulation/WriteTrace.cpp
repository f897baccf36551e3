// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The timeline. An executable's has process 0 and a lane for each rank; this
// one has a process of its own, so that the events of both may stand in one
// file.

#include "Totals.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shoal;
using llvm::json::Object;

constexpr int64_t kProcess = 1;

/// From the top down: behind these one for the links of each level, then one
/// for each device of a pipeline.
enum class Lane { Loops, Host, Compute, Links };

/// Of a pipeline: a page of more shows nothing.
constexpr int64_t kMostSlots = 4096;

static Object makeEvent(llvm::StringRef name, llvm::StringRef phase,
                        Lane lane) {
  return Object{{"name", llvm::json::fixUTF8(name)},
                {"ph", phase},
                {"pid", kProcess},
                {"tid", static_cast<int64_t>(lane)}};
}

static Object makeSlice(llvm::StringRef name, Lane lane, Picoseconds start,
                        Picoseconds end, Object arguments) {
  Object event = makeEvent(name, "X", lane);
  event["ts"] = start * 1e-6;
  event["dur"] = (end - start) * 1e-6;
  event["args"] = std::move(arguments);
  return event;
}

static Object makeName(llvm::StringRef what, Lane lane, llvm::StringRef name) {
  Object event = makeEvent(what, "M", lane);
  event["args"] = Object{{"name", llvm::json::fixUTF8(name)}};
  return event;
}

namespace {

/// Lists events, one a line.
class TraceWriter {
public:
  TraceWriter(const Forecast &forecast, llvm::raw_ostream &os)
      : forecast(forecast), os(os) {}

  void run() {
    os << "{\"traceEvents\": [\n";
    writeNames();
    write(makeSlice(
        "step", Lane::Loops, 0, forecast.step.time,
        Object{{"simulated", llvm::json::fixUTF8(forecast.cluster.name)}}));
    for (const SimulatedLoop &loop : forecast.step.loops)
      writeLoop(loop);
    for (const SimulatedLoop &loop : forecast.step.loops)
      writePipeline(loop);
    for (const SimulatedTask &task : forecast.step.tasks)
      writeTask(task);
    os << "\n]}\n";
  }

private:
  void write(Object event) {
    os << (isFirst ? "" : ",\n") << llvm::json::Value(std::move(event));
    isFirst = false;
  }

  void writeNames() {
    write(makeName(
        "process_name", Lane::Loops,
        llvm::formatv("a device of {0}, simulated", forecast.cluster.name)
            .str()));
    for (auto [lane, name] : {std::pair(Lane::Loops, "step and loops"),
                              {Lane::Host, "host"},
                              {Lane::Compute, "compute"}})
      write(makeName("thread_name", lane, name));
    for (auto [level, each] : llvm::enumerate(forecast.cluster.levels))
      write(makeName("thread_name", laneBehind(level),
                     "collectives over " + each.name));
  }

  /// Of those behind the lanes that all steps have.
  static Lane laneBehind(int64_t number) {
    return static_cast<Lane>(static_cast<int64_t>(Lane::Links) + number);
  }

  void writeLoop(const SimulatedLoop &loop) {
    std::string name = loop.isKnown
                           ? llvm::formatv("loop, {0} trips", loop.trips).str()
                           : "loop, trips unknown";
    write(makeSlice(name, Lane::Loops, loop.start, loop.end,
                    Object{{"loc", llvm::json::fixUTF8(loop.place)},
                           {"trips", loop.trips}}));
  }

  /// What each device of a pipeline works on: a lane for each, and a slot of a
  /// micro-batch in a stage for each tick in which it does not wait.
  void writePipeline(const SimulatedLoop &loop) {
    int64_t devices = loop.pipelineDevices;
    if (devices == 1 || devices * loop.trips > kMostSlots)
      return;
    int64_t slots = loop.trips - devices + 1;
    Picoseconds tick = (loop.end - loop.start) / loop.trips;
    for (int64_t device = 0; device < devices; ++device) {
      Lane lane = laneBehind(
          static_cast<int64_t>(forecast.cluster.levels.size()) + device);
      write(makeName(
          "thread_name", lane,
          llvm::formatv("stages of pipeline device {0}", device).str()));
      for (int64_t slot = 0; slot < slots; ++slot) {
        int64_t place = loop.isOfGradient ? devices - 1 - device : device;
        Picoseconds start = loop.start + (place + slot) * tick;
        write(makeSlice(llvm::formatv("slot {0}", slot).str(), lane, start,
                        start + tick,
                        Object{{"loc", llvm::json::fixUTF8(loop.place)}}));
      }
    }
  }

  void writeTask(const SimulatedTask &task) {
    Lane lane = task.link < 0 ? Lane::Compute : laneBehind(task.link);
    write(
        makeSlice(task.task.name, lane, task.start, task.end, describe(task)));
    auto launch = static_cast<Picoseconds>(forecast.cluster.chip.launch * 1e12);
    if (launch > 0)
      write(makeSlice("launch " + task.task.name, Lane::Host, task.launched,
                      task.launched + launch, {}));
  }

  Object describe(const SimulatedTask &task) const {
    Object arguments{{"bytes", task.task.bytes},
                     {"bound", boundOf(task.price, forecast.cluster)},
                     {"runs", task.runs}};
    auto add = [&](llvm::StringRef key, llvm::StringRef text) {
      if (!text.empty())
        arguments[key] = llvm::json::fixUTF8(text);
    };
    add("loc", task.task.place);
    add("layer", task.task.layer);
    if (auto *work = std::get_if<CollectiveWork>(&task.task.work)) {
      arguments["id"] = work->number;
      add("axes", work->axesText);
      add("reason", work->reason);
    }
    return arguments;
  }

  const Forecast &forecast;
  llvm::raw_ostream &os;
  bool isFirst = true;
};

} // namespace

void shoal::writeTrace(const Forecast &forecast, llvm::raw_ostream &os) {
  TraceWriter(forecast, os).run();
}

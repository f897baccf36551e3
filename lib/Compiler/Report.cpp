// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Compiler/Report.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shoal;

/// Einsum work of all devices over that of the global program: 1 where no
/// device repeats another's; 0 where the global number is unknown.
static double getEinsumRatio(const ProgramDescription &program) {
  if (program.globalEinsumFlops == 0)
    return 0;
  return program.arithmetic.mostEinsumFlops * program.devices /
         program.globalEinsumFlops;
}

llvm::json::Object shoal::toStatistics(const StageSeconds &seconds) {
  llvm::json::Object stages;
  for (const auto &[stage, time] : seconds)
    stages[stage] = stages.getNumber(stage).value_or(0) + time;
  return stages;
}

llvm::json::Value shoal::toStatistics(const LoweredProgram &program,
                                      llvm::ArrayRef<LiveBuffer> largest,
                                      const StageSeconds &seconds) {
  const ProgramDescription &description = program.description;
  llvm::json::Object counts, bytes;
  llvm::json::Array list;
  auto add = [](llvm::json::Object &object, llvm::StringRef key, int64_t more) {
    object[key] = object.getInteger(key).value_or(0) + more;
  };
  for (const CollectiveCost &collective : description.collectives) {
    add(counts, collective.kind, collective.runs);
    add(bytes, collective.kind, collective.runs * collective.bytes);
    list.push_back(llvm::json::Object{{"kind", collective.kind},
                                      {"axes", collective.axes},
                                      {"bytes", collective.bytes},
                                      {"runs", collective.runs},
                                      {"loc", collective.location},
                                      {"reason", collective.reason},
                                      {"layer", collective.layer},
                                      {"roles", collective.roles}});
  }
  llvm::json::Value ratio = nullptr;
  if (description.globalEinsumFlops != 0)
    ratio = getEinsumRatio(description);
  llvm::json::Value certificate = nullptr;
  if (const auto &own = description.certificate)
    certificate =
        llvm::json::Object{{"cost", own->cost},
                           {"lower_bound", own->lowerBound},
                           {"unit", own->inTime ? "nanoseconds" : "bytes"}};
  return llvm::json::Object{
      {"devices", description.devices},
      {"certificate", std::move(certificate)},
      {"collectives", std::move(counts)},
      {"bytes_sent_per_device", std::move(bytes)},
      {"peak_bytes_per_device", program.peakBytes()},
      {"arena_bytes_per_device", program.arenaBytes},
      {"flops_per_device", description.arithmetic.flops},
      {"most_flops_per_device", description.arithmetic.mostFlops},
      {"einsum_flops_ratio", std::move(ratio)},
      {"rematerialized", llvm::json::Array(description.rematerialized)},
      {"compile_seconds", toStatistics(seconds)},
      {"collective_list", std::move(list)},
      {"largest_buffers", toJSON(largest)}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printTensors(llvm::StringRef title,
                         llvm::ArrayRef<TensorDescription> tensors,
                         llvm::ArrayRef<TensorDescription> inputs,
                         llvm::raw_ostream &os) {
  for (const TensorDescription &tensor : tensors) {
    os << llvm::formatv("  {0} {1} : {2}", title, tensor.name,
                        mlir::Type(tensor.globalType));
    if (tensor.globalType != tensor.localType)
      os << ", on a device " << mlir::Type(tensor.localType);
    if (tensor.isDonated)
      os << ", donated";
    if (tensor.donor >= 0)
      os << ", in the memory of " << inputs[tensor.donor].name;
    os << '\n';
  }
}

/// "tp, in layers.0/attention".
static std::string placeOf(const CollectiveCost &collective) {
  std::string text = collective.roles;
  if (!collective.layer.empty())
    text += (text.empty() ? "in " : ", in ") + collective.layer;
  return text;
}

/// ", 12.50 us in all (simulated, link of rails)".
static void printTime(const std::map<int64_t, OpTime> &times, int64_t number,
                      llvm::raw_ostream &os) {
  if (auto found = times.find(number); found != times.end())
    os << llvm::formatv(", {0} in all (simulated, {1})",
                        timeText(found->second.seconds), found->second.bound);
}

static void printCollectives(llvm::ArrayRef<CollectiveCost> collectives,
                             const std::map<int64_t, OpTime> &times,
                             const Machine &machine, llvm::raw_ostream &os) {
  int64_t total = 0;
  for (const CollectiveCost &collective : collectives)
    total += collective.runs * collective.bytes;
  os << llvm::formatv("collectives: {0}, {1:N} bytes sent by a device\n",
                      collectives.size(), total);
  if (int64_t bytes = startingBytes(collectives, machine))
    os << llvm::formatv("  to start them takes longer than to send that: as "
                        "long as {0:N} bytes\n",
                        bytes);
  for (auto [number, collective] : llvm::enumerate(collectives)) {
    os << llvm::formatv("  {0,-18} {1} in groups of {2}: {3:N} bytes",
                        collective.kind, collective.axes, collective.groupSize,
                        collective.bytes);
    if (collective.runs != 1)
      os << ", " << collective.runs << " times";
    printTime(times, number, os);
    if (!collective.location.empty())
      os << ", at " << collective.location;
    os << '\n';
    if (!collective.layer.empty() || !collective.roles.empty())
      os << "      " << placeOf(collective) << '\n';
    if (!collective.reason.empty())
      os << "      " << collective.reason << '\n';
  }
}

static void printLines(llvm::StringRef title, llvm::ArrayRef<std::string> lines,
                       llvm::raw_ostream &os) {
  if (lines.empty())
    return;
  os << title << ":\n";
  for (const std::string &line : lines)
    os << "  " << line << '\n';
}

/// Buffers that are told of.
static constexpr size_t kMaxBuffers = 8;

static void printBuffers(const LoweredProgram &program,
                         llvm::ArrayRef<LiveBuffer> largest,
                         llvm::raw_ostream &os) {
  if (largest.empty())
    return;
  os << "the largest buffers there, and what each could be replaced by:\n";
  for (const LiveBuffer &buffer : largest.take_front(kMaxBuffers)) {
    auto type = llvm::cast<mlir::ShapedType>(
        program.memory.buffers[buffer.buffer].type);
    os << llvm::formatv("  {0:N} bytes, ", buffer.bytes);
    for (int64_t size : type.getShape())
      os << size << 'x';
    os << type.getElementType();
    if (!buffer.made.empty())
      os << ", of " << buffer.made;
    os << "\n      " << buffer.text;
    if (buffer.savedBytes != 0)
      os << llvm::formatv(" (saves {0:N} bytes)", buffer.savedBytes);
    os << '\n';
  }
}

/// ", x0 = 8 (dp, ep)": by what axes are for, where that is said.
static std::string describeMeshes(const ProgramDescription &description) {
  std::string text;
  for (const MeshDescription &mesh : description.meshes)
    for (auto [axis, roles] : llvm::zip_equal(mesh.mesh.getAxes(), mesh.roles))
      if (!roles.empty())
        text += llvm::formatv(", {0} = {1} ({2})", axis.getName(),
                              axis.getSize(), roles);
  return text;
}

void shoal::printSummary(const LoweredProgram &program,
                         llvm::ArrayRef<LiveBuffer> largest,
                         const Forecast *forecast, const Machine &machine,
                         llvm::raw_ostream &os) {
  const ProgramDescription &description = program.description;
  os << llvm::formatv("program {0}: {1} devices{2}\n", description.name,
                      description.devices, describeMeshes(description));
  printTensors("input", description.inputs, description.inputs, os);
  printTensors("output", description.outputs, description.inputs, os);
  std::map<int64_t, OpTime> times;
  if (forecast)
    times = timesOfCollectives(*forecast);
  printCollectives(description.collectives, times, machine, os);
  if (description.certificate)
    os << "shardings " << description.certificate->text() << '\n';
  printLines("one-hot einsums", description.oneHots, os);
  printLines("computed again", description.rematerialized, os);
  os << llvm::formatv("arithmetic: {0:N} operations on a device, {1:N} of them "
                      "in products",
                      int64_t(description.arithmetic.flops),
                      int64_t(description.arithmetic.einsumFlops));
  if (description.arithmetic.mostFlops > description.arithmetic.flops)
    os << llvm::formatv(
        ", {0:N} where all rows come that buffers have room for",
        int64_t(description.arithmetic.mostFlops));
  if (description.globalEinsumFlops != 0)
    os << llvm::formatv(" ({0:F2} times the global program's, over all "
                        "devices)",
                        getEinsumRatio(description));
  os << llvm::formatv(
      "\nmemory: {0:N} bytes on a device: inputs and outputs "
      "{1:N}, arena {2:N}; of the arena and the {3:N} of outputs that "
      "buffers share, {4:N} are needed at once\n",
      program.peakBytes(), description.argumentBytes(), program.arenaBytes,
      description.sharedBytes, program.liveBytes);
  printBuffers(program, largest, os);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Report/Report.h"
#include "Page.h"
#include "SourceLines.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"

using namespace mlir;
using namespace shoal;

/// The collectives of `report`, which has the runtime's metadata, with what the
/// runtime does not ask for.
static llvm::json::Array describeCollectives(const LoweredProgram &program,
                                             llvm::json::Array ops) {
  llvm::json::Array list;
  for (auto [collective, op] :
       llvm::zip_equal(program.description.collectives, ops)) {
    llvm::json::Object entry{{"op", op},
                             {"kind", collective.kind},
                             {"axes", toUTF8(collective.axes)},
                             {"group_size", collective.groupSize},
                             {"bytes", collective.bytes},
                             {"runs", collective.runs},
                             {"reason", toUTF8(collective.reason)}};
    if (!collective.layer.empty())
      entry["layer"] = toUTF8(collective.layer);
    if (!collective.roles.empty())
      entry["roles"] = toUTF8(collective.roles);
    list.push_back(std::move(entry));
  }
  return list;
}

/// The op that the location belongs to; null where a pass made one of its own.
static llvm::json::Value findOp(Location loc) {
  if (std::optional<int64_t> number = getNumberNote(loc))
    return *number;
  return nullptr;
}

static std::string printMemRef(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto memref = cast<ShapedType>(type);
  llvm::interleave(memref.getShape(), os, "×");
  os << (memref.getRank() > 0 ? " " : "") << memref.getElementType();
  return text;
}

/// How products are computed; groups, which the runtime plans, are left out.
static llvm::json::Array describeProducts(ArrayRef<ProductCall> products) {
  llvm::json::Array list;
  for (const ProductCall &product : products)
    if (!product.plan.empty())
      list.push_back(llvm::json::Object{{"op", findOp(product.location)},
                                        {"plan", product.plan}});
  return list;
}

llvm::json::Array shoal::toJSON(ArrayRef<LiveBuffer> buffers) {
  llvm::json::Array list;
  for (const LiveBuffer &buffer : buffers) {
    llvm::json::Object entry{{"buffer", buffer.buffer},
                             {"bytes", buffer.bytes},
                             {"op", nullptr},
                             {"made", toUTF8(buffer.made)},
                             {"replacement", toString(buffer.replacement)},
                             {"saves", buffer.savedBytes},
                             {"text", toUTF8(buffer.text)}};
    if (buffer.op)
      entry["op"] = *buffer.op;
    list.push_back(std::move(entry));
  }
  return list;
}

/// Buffers' places are behind what is there all the time: first those in the
/// outputs' shared memory, then those in the arena.
static llvm::json::Object describeMemory(const LoweredProgram &program,
                                         ArrayRef<LiveBuffer> largest) {
  llvm::json::Array steps, buffers;
  int64_t shared = program.description.sharedBytes;
  for (Location step : program.memory.steps)
    steps.push_back(findOp(step));
  int64_t end = 0;
  for (const MemoryPlan::Buffer &buffer : program.memory.buffers) {
    int64_t begin = buffer.offset + (buffer.inResults ? 0 : shared);
    buffers.push_back(llvm::json::Object{{"offset", begin},
                                         {"bytes", buffer.bytes},
                                         {"first", buffer.first},
                                         {"last", buffer.last},
                                         {"type", printMemRef(buffer.type)},
                                         {"op", steps[buffer.first]}});
    if (!buffer.inResults)
      end = std::max(end, buffer.offset + buffer.bytes);
  }
  return llvm::json::Object{
      {"peak", program.peakBytes()},
      {"arguments", program.description.argumentBytes() - shared},
      {"shared", shared},
      {"arena", program.arenaBytes},
      {"live", program.liveBytes},
      {"constants", program.arenaBytes - end},
      {"steps", std::move(steps)},
      {"buffers", std::move(buffers)},
      {"largest", toJSON(largest)}};
}

/// What a forecast says, and the time of each op and collective, by its number.
static llvm::json::Object describeForecast(const Forecast &forecast) {
  llvm::json::Object described = toJson(forecast);
  llvm::json::Array ops;
  for (auto &[op, time] : timesOfOps(forecast))
    ops.push_back(llvm::json::Object{
        {"op", op}, {"seconds", time.seconds}, {"bound", time.bound}});
  described["ops"] = std::move(ops);
  return described;
}

llvm::json::Object shoal::makeReport(const LoweredProgram &program,
                                     StringRef target, const Machine &machine,
                                     llvm::json::Object listing,
                                     ArrayRef<LiveBuffer> largest,
                                     const Forecast *forecast) {
  const ProgramDescription &description = program.description;
  llvm::json::Object report =
      *toMetadata(description, target, program.arenaBytes).getAsObject();
  for (auto &[key, value] : listing)
    report[key] = std::move(value);
  auto collectives = report.find("op_of_collective");
  report["collectives"] = describeCollectives(
      program, std::move(*collectives->second.getAsArray()));
  report.erase("op_of_collective");
  report["starting_bytes"] = startingBytes(description.collectives, machine);
  report["flops"] =
      llvm::json::Object{{"device", description.arithmetic.flops},
                         {"einsum", description.arithmetic.einsumFlops},
                         {"global_einsum", description.globalEinsumFlops}};
  report["one_hots"] = llvm::json::Array(description.oneHots);
  report["rematerialized"] = llvm::json::Array(description.rematerialized);
  report["products"] = describeProducts(description.products);
  report["memory"] = describeMemory(program, largest);
  if (forecast)
    report["simulated"] = describeForecast(*forecast);
  return report;
}

/// As a script's text: where "<" cannot occur nothing ends the script.
static void writeEscaped(StringRef json, llvm::raw_ostream &os) {
  while (!json.empty()) {
    auto [text, rest] = json.split('<');
    os << text;
    if (text.size() < json.size())
      os << "\\u003c";
    json = rest;
  }
}

void shoal::writePage(llvm::json::Object report, llvm::raw_ostream &os) {
  std::string json = llvm::formatv("{0}", llvm::json::Value(std::move(report)));
  os << kPageHead;
  writeEscaped(json, os);
  os << kPageTail;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "InlayHints.h"
#include "shoal/Compiler/Driver.h"
#include "shoal/Simulation/Simulate.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include <map>

using namespace mlir;
using namespace shoal;

/// The name that places of the program have.
static constexpr llvm::StringLiteral kName = "document";

namespace {
/// Of the collectives that stand at a line.
struct LineCost {
  std::vector<std::string> kinds;
  int64_t bytes = 0;
  double seconds = 0;
};
} // namespace

/// The program's statistics, with its forecast on the machine; null where it
/// does not compile.
static llvm::json::Value compileStatistics(llvm::StringRef text,
                                           llvm::StringRef machineFile) {
  DialectRegistry registry;
  registerCompiler(registry);
  MLIRContext context(registry);
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, kName),
                              llvm::SMLoc());
  // Neither a file nor a forecast is written.
  std::string forecast;
  DriverOptions options;
  options.forecast = &forecast;
  options.machinePath = machineFile.str();
  options.partition.machineFile = machineFile.str();
  StageSeconds seconds;
  FailureOr<Compiled> compiled = compile(context, sources, options, seconds);
  if (failed(compiled))
    return nullptr;
  return llvm::cantFail(llvm::json::parse(compiled->statistics));
}

/// The line of `document:12:8`, from 0; nothing of another place.
static std::optional<int64_t> lineOf(llvm::StringRef place) {
  int64_t line = 0;
  if (!place.consume_front(kName) || !place.consume_front(":") ||
      place.split(':').first.getAsInteger(10, line))
    return std::nullopt;
  return line - 1;
}

static std::map<int64_t, double>
secondsByNumber(const llvm::json::Object &statistics) {
  std::map<int64_t, double> seconds;
  const llvm::json::Object *predicted = statistics.getObject("predicted");
  const llvm::json::Array *list =
      predicted ? predicted->getArray("collectives") : nullptr;
  if (list)
    for (const llvm::json::Value &each : *list)
      if (const llvm::json::Object *own = each.getAsObject())
        seconds[own->getInteger("number").value_or(-1)] =
            own->getNumber("seconds").value_or(0);
  return seconds;
}

static std::map<int64_t, LineCost>
costsByLine(const llvm::json::Object &statistics) {
  std::map<int64_t, LineCost> costs;
  std::map<int64_t, double> seconds = secondsByNumber(statistics);
  const llvm::json::Array *list = statistics.getArray("collective_list");
  if (!list)
    return costs;
  for (auto [number, each] : llvm::enumerate(*list)) {
    const llvm::json::Object &own = *each.getAsObject();
    std::optional<int64_t> line = lineOf(own.getString("loc").value_or(""));
    if (!line)
      continue;
    LineCost &cost = costs[*line];
    std::string kind = own.getString("kind").value_or("").str();
    if (!llvm::is_contained(cost.kinds, kind))
      cost.kinds.push_back(std::move(kind));
    cost.bytes += own.getInteger("bytes").value_or(0) *
                  own.getInteger("runs").value_or(1);
    if (auto found = seconds.find(number); found != seconds.end())
      cost.seconds += found->second;
  }
  return costs;
}

/// `all_to_all: 57,344 bytes, 12.50 us`.
static std::string labelOf(const LineCost &cost) {
  std::string label = llvm::formatv("{0}: {1:N} bytes",
                                    llvm::join(cost.kinds, ", "), cost.bytes);
  if (cost.seconds > 0)
    label += ", " + timeText(cost.seconds);
  return label;
}

llvm::json::Array shoal::makeInlayHints(llvm::StringRef text,
                                        llvm::StringRef machineFile) {
  llvm::json::Array hints;
  llvm::json::Value statistics = compileStatistics(text, machineFile);
  if (!statistics.getAsObject())
    return hints;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (const auto &[line, cost] : costsByLine(*statistics.getAsObject()))
    if (line < int64_t(lines.size()))
      hints.push_back(llvm::json::Object{
          {"position",
           llvm::json::Object{{"line", line},
                              {"character", int64_t(lines[line].size())}}},
          {"label", labelOf(cost)},
          {"paddingLeft", true}});
  return hints;
}

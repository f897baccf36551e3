// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Rematerialize/Rematerialize.h"
#include "Apply.h"
#include "LoopRows.h"
#include "NarrowReads.h"
#include "ReversedLoops.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

#define DEBUG_TYPE "shoal-rematerialize"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

static PassCounter numRepeated(DEBUG_TYPE, "Ops computed again");
static PassCounter numNotSaved(DEBUG_TYPE, "Values not saved any more");
static PassCounter numRows(DEBUG_TYPE, "Values of loops without rows");

/// Values that are told of.
static constexpr size_t kTold = 20;
static constexpr size_t kLargest = 5;

/// Names and boundaries have done their work.
static void removeMarks(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (!isa<RematBoundaryOp, CheckpointNameOp>(op))
      return;
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  });
}

/// `"math.tanh" at a.mlir:3:8`
static std::string describe(mlir::Value value) {
  Operation *maker = value.getDefiningOp();
  std::string place = sourcePlace(value.getLoc());
  return llvm::formatv("{0}{1} : {2}", maker->getName().getStringRef(),
                       place.empty() ? "" : " at " + place, value.getType());
}

/// The values that the backward pass read of the forward pass and reads no
/// more, the largest first.
static SmallVector<unsigned> listNotSaved(const ExtractedStep &step,
                                          const Choice &choice) {
  const Graph &graph = step.graph;
  llvm::SetVector<unsigned> values;
  for (const GraphOp &reader : graph.ops)
    if (reader.isBackward)
      for (unsigned operand : reader.operands)
        for (unsigned root : rootsOf(graph, operand))
          if (std::optional<unsigned> maker = graph.values[root].maker;
              maker && choice.repeated[*maker])
            values.insert(root);
  SmallVector<unsigned> list = values.takeVector();
  llvm::sort(list, [&](unsigned a, unsigned b) {
    return std::pair(-graph.values[a].bytes, a) <
           std::pair(-graph.values[b].bytes, b);
  });
  return list;
}

/// A line for values of the function's block, and one for each large one.
static void tellValues(const ExtractedStep &step, const Choice &choice,
                       SmallVectorImpl<std::string> &lines) {
  SmallVector<unsigned> list = listNotSaved(step, choice);
  numNotSaved += list.size();
  if (list.empty())
    return;
  int64_t bytes = 0;
  for (unsigned value : list)
    bytes += step.graph.values[value].bytes;
  lines.push_back(llvm::formatv("{0} values of {1:N} bytes are not saved",
                                list.size(), bytes));
  // Most of them are not there at one time.
  std::vector<bool> none(step.graph.ops.size(), false);
  lines.push_back(llvm::formatv(
      "the peak is estimated at {0:N} bytes, with all saved at {1:N}",
      step.argumentBytes + choice.schedule.peakBytes,
      step.argumentBytes + makeSchedule(step.graph, none).peakBytes));
  for (unsigned value : ArrayRef(list).take_front(kTold))
    lines.push_back(llvm::formatv("{0:N} bytes of {1}",
                                  step.graph.values[value].bytes,
                                  describe(step.values[value])));
}

/// The function's attribute, from the program as it was.
static void tell(func::FuncOp function, const ExtractedStep &step,
                 const Choice &choice, const DroppedRows &rows,
                 const Rematerialized &outcome) {
  SmallVector<std::string> lines;
  if (rows.count > 0)
    lines.push_back(
        llvm::formatv("rows of {0} values of loops, {1:N} bytes, are not kept",
                      rows.count, rows.bytes));
  tellValues(step, choice, lines);
  if (lines.empty())
    return;
  lines.insert(lines.begin(),
               llvm::formatv("what is computed again takes {0:P} of the "
                             "forward pass's estimated time",
                             outcome.repeatedCost / outcome.forwardCost));
  for (const std::string &line : lines)
    LDBG() << line;
  Builder builder(function.getContext());
  auto texts = llvm::map_to_vector(
      lines, [](const std::string &line) { return StringRef(line); });
  function->setAttr(kRematerializedAttr, builder.getStrArrayAttr(texts));
}

/// Of what is held when that is most.
static SmallVector<Rematerialized::Held> listLargest(const ExtractedStep &step,
                                                     const Choice &choice) {
  SmallVector<Rematerialized::Held> largest;
  for (const Instance &each : listHeldAtPeak(step.graph, choice.schedule)) {
    mlir::Value value = step.values[each.value];
    int64_t bytes = step.graph.values[each.value].bytes;
    auto *same = llvm::find_if(largest, [&](const Rematerialized::Held &held) {
      return held.type == value.getType() && held.bytes == bytes &&
             sourcePlace(held.loc) == sourcePlace(value.getLoc());
    });
    if (same != largest.end())
      ++same->count;
    else if (largest.size() < kLargest)
      largest.push_back({value.getLoc(), value.getType(), bytes});
    else if (bytes < largest.back().bytes)
      break;
  }
  return largest;
}

static Rematerialized describeChoice(const ExtractedStep &step,
                                     const Choice &choice,
                                     const DroppedRows &rows) {
  Rematerialized outcome;
  outcome.estimatedBytes = step.argumentBytes + choice.schedule.peakBytes;
  outcome.fits = choice.fits;
  outcome.repeatedCost = choice.schedule.repeatedCost + rows.cost;
  for (const GraphOp &op : step.graph.ops)
    outcome.forwardCost += op.isBackward || op.isView ? 0 : op.cost;
  outcome.largest = listLargest(step, choice);
  return outcome;
}

/// No machine has memory to offload to: a CPU is a device itself, and of GPUs
/// nothing moves values to their host and back yet.
static InFlightDiagnostic refuseOffload(Operation *op, MachineKind machine) {
  return op->emitError("policy \"offload\": ")
         << (machine == MachineKind::CPU
                 ? "a cpu has no memory beside its own to move values to"
                 : "values of a gpu cannot be moved to the host's memory yet");
}

LogicalResult shoal::checkPolicies(func::FuncOp function,
                                   const RematerializeSettings &settings) {
  auto offloads = [](const RematerializePolicy &policy) {
    return policy.kind == RematerializePolicy::Kind::Offload;
  };
  if (offloads(settings.policy))
    return refuseOffload(function, settings.machine);
  WalkResult walk = function.walk([&](RematBoundaryOp boundary) {
    if (!boundary.getPolicy() ||
        !offloads(*RematerializePolicy::parse(*boundary.getPolicy())))
      return WalkResult::advance();
    refuseOffload(boundary, settings.machine);
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static Choice choose(const ExtractedStep &step, std::optional<int64_t> limit) {
  if (limit)
    *limit -= step.argumentBytes;
  return chooseRepeated(step.graph, limit);
}

/// What a copy of the function holds whose loops keep rows by this price.
static Choice tryPrice(func::FuncOp function,
                       const RematerializeSettings &settings, double price) {
  OpBuilder builder(function);
  auto copy = cast<func::FuncOp>(builder.clone(*function));
  dropRows(copy, settings.policy, machineOf(settings.machine), price);
  ExtractedStep step =
      extractStep(copy, settings.policy, machineOf(settings.machine));
  Choice choice = choose(step, settings.limit);
  copy.erase();
  return choice;
}

/// The least price of a byte of loops' rows with which the limit is kept, or
/// that with which least is held.
static double findPrice(func::FuncOp function,
                        const RematerializeSettings &settings) {
  if (!settings.limit)
    return 0;
  auto priceAt = [](int place) {
    return place == 0 ? 0 : std::exp2((place - 4) * 0.5);
  };
  int low = 0, high = 44;
  Choice none = tryPrice(function, settings, priceAt(low));
  if (none.fits || findReversedLoops(function).empty())
    return 0;
  Choice most = tryPrice(function, settings, priceAt(high));
  if (!most.fits)
    return most.schedule.peakBytes < none.schedule.peakBytes ? priceAt(high)
                                                             : 0;
  while (low + 1 < high) {
    int middle = (low + high) / 2;
    (tryPrice(function, settings, priceAt(middle)).fits ? high : low) = middle;
  }
  return priceAt(high);
}

Rematerialized shoal::rematerialize(func::FuncOp function,
                                    const RematerializeSettings &settings) {
  const Machine &machine = machineOf(settings.machine);
  narrowReads(function);
  double price = findPrice(function, settings);
  DroppedRows rows = dropRows(function, settings.policy, machine, price);
  ExtractedStep step = extractStep(function, settings.policy, machine);
  Choice choice = choose(step, settings.limit);
  Rematerialized outcome = describeChoice(step, choice, rows);
  LDBG() << "@" << function.getSymName() << ": " << step.graph.ops.size()
         << " ops, an estimate of " << outcome.estimatedBytes
         << " bytes, rows of loops by " << price << " operations a byte";
  tell(function, step, choice, rows, outcome);
  numRepeated += llvm::count(choice.repeated, true);
  numRows += rows.count;
  applySchedule(step, choice.schedule);
  removeMarks(function);
  return outcome;
}

void shoal::attachLargest(InFlightDiagnostic &error,
                          const Rematerialized &outcome) {
  for (const Rematerialized::Held &held : outcome.largest) {
    Diagnostic &note = error.attachNote(held.loc);
    note << llvm::formatv("{0:N}", held.bytes * held.count).str()
         << " bytes are held then, of ";
    if (held.count == 1)
      note << "a value of ";
    else
      note << held.count << " values of ";
    note << held.type;
  }
}

std::optional<int64_t> shoal::parseBytes(StringRef text) {
  StringRef unit =
      text.drop_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  double number = 0;
  if (text.drop_back(unit.size()).getAsDouble(number) || number < 0)
    return std::nullopt;
  double factor = llvm::StringSwitch<double>(unit.ltrim())
                      .Cases({"", "B"}, 1)
                      .Cases({"KB", "kB"}, 1e3)
                      .Case("MB", 1e6)
                      .Case("GB", 1e9)
                      .Case("KiB", 1 << 10)
                      .Case("MiB", 1 << 20)
                      .Case("GiB", 1 << 30)
                      .Default(0);
  if (factor == 0 || number * factor >= double(INT64_MAX))
    return std::nullopt;
  return int64_t(number * factor);
}

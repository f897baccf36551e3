// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Simulation.h"
#include "Outputs.h"
#include "mlir/IR/Diagnostics.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Machine/ClusterFile.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

LogicalResult shoal::verifySimulation(const DriverOptions &options,
                                      Location loc) {
  double imbalance = options.imbalance;
  if (!(imbalance >= 1 && std::isfinite(imbalance)))
    return emitError(loc) << "imbalance: expected a number of at least 1 but "
                             "got "
                          << llvm::formatv("{0}", imbalance).str();
  if (!options.machinePath.empty())
    return success();
  if (!options.simulatedTracePath.empty())
    return emitError(loc) << "simulate-trace: expected the machine, too: "
                             "--simulate=MACHINE.toml";
  if (imbalance != 1)
    return emitError(loc) << "imbalance: expected the machine, too: "
                             "--simulate=MACHINE.toml";
  return success();
}

/// The page goes where nothing else does.
static llvm::raw_ostream &streamOf(const DriverOptions &options) {
  bool isText = options.emit == Emit::Spmd || options.emit == Emit::Report;
  bool isTaken =
      isText && (options.outputPath.empty() || options.outputPath == "-");
  return isTaken ? llvm::errs() : llvm::outs();
}

void Simulation::prepare(ModuleOp module) {
  const std::string &file = machineFileOf(options);
  if (file.empty())
    return;
  prepared = prepareStep(module);
  // Whoever needs the machine says why there is none.
  if (support::Result<Cluster> read = readCluster(file))
    prices.emplace(prepared, std::move(*read), options.target == Target::CUDA);
}

std::optional<OpDuration> Simulation::durationOf(Operation *op) const {
  std::optional<Price> price = prices ? prices->priceOf(op) : std::nullopt;
  if (!price)
    return std::nullopt;
  return OpDuration{inSeconds(price->time), std::max(price->link, 0)};
}

void Simulation::take(func::FuncOp main) {
  if (isOn())
    step = extractStep(main, prepared, options.target == Target::CUDA);
}

/// What is live through each step of the plan.
static std::vector<HeldAt> listHeld(const MemoryPlan &plan) {
  size_t count = plan.steps.size();
  std::vector<int64_t> changes(count + 1, 0);
  for (const MemoryPlan::Buffer &buffer : plan.buffers)
    if (buffer.first + 1 < buffer.last) {
      changes[buffer.first + 1] += buffer.bytes;
      changes[buffer.last] -= buffer.bytes;
    }
  std::vector<HeldAt> held;
  int64_t bytes = 0;
  for (size_t step = 0; step < count; ++step) {
    bytes += changes[step];
    held.push_back({namePath(plan.steps[step]), bytes});
  }
  return held;
}

support::Status Simulation::forecastStep(const LoweredProgram &program) {
  support::Result<Cluster> read = readCluster(options.machinePath);
  if (!read)
    return read.error();
  cluster = std::move(*read);
  int64_t devices = program.description.devices;
  SimulationOptions given{options.imbalance};
  support::Result<SimulatedStep> balanced = simulate(step, devices, cluster);
  if (!balanced)
    return balanced.error();
  Picoseconds time = balanced->time;
  support::Result<SimulatedStep> simulated =
      given.imbalance == 1 ? std::move(balanced)
                           : simulate(step, devices, cluster, given);
  if (!simulated)
    return simulated.error();
  forecast.emplace(Forecast{std::move(*simulated), cluster, devices,
                            program.peakBytes(),
                            program.description.globalEinsumFlops, given, time,
                            /*hasOneStream=*/options.target == Target::CPU,
                            listHeld(program.memory)});
  return std::nullopt;
}

FailureOr<const Forecast *> Simulation::run(MLIRContext &context,
                                            const LoweredProgram &program) {
  if (!isOn())
    return static_cast<const Forecast *>(nullptr);
  if (support::Status failed = forecastStep(program))
    // Of the command line.
    return emitError(UnknownLoc::get(&context))
           << "simulate: " << failed->message;
  if (options.forecast)
    *options.forecast =
        llvm::formatv("{0}", llvm::json::Value(toJson(*forecast)));
  else
    printForecast(*forecast, streamOf(options));
  if (!options.simulatedTracePath.empty() &&
      failed(
          writeFile(context, options.simulatedTracePath,
                    [&](llvm::raw_ostream &os) { writeTrace(*forecast, os); })))
    return failure();
  return &*forecast;
}

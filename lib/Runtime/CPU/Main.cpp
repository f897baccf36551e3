// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main() of every executable for the CPU.

#include "../Common/Report.h"
#include "../Common/Run.h"
#include "Device.h"
#include "shoal/Runtime/ABI.h"

#include <cstdio>
#include <cstdlib>

// OpenBLAS alone has it; another BLAS keeps its own default.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

using namespace shoal::rt;

/// A rank is a device: it keeps to one core unless its user says otherwise.
static void limitThreads() {
  if (openblas_set_num_threads && !std::getenv("OPENBLAS_NUM_THREADS") &&
      !std::getenv("OMP_NUM_THREADS"))
    openblas_set_num_threads(1);
}

static Status checkWorld(const World &world, const Program &program) {
  if (world.size() == program.devices)
    return std::nullopt;
  std::string devices = std::to_string(program.devices);
  return Error{program.name + " is compiled for " + devices +
               " devices, but runs on " + std::to_string(world.size()) +
               "; start it with mpirun -n " + devices};
}

static Status prepareFiles(const World &world, const Options &options) {
  if (!world.isRoot())
    return std::nullopt;
  if (!options.outputDir.empty())
    if (Status failed = prepareOutputDir(options.outputDir))
      return failed;
  if (Status failed = prepareFile(options.statsFile))
    return failed;
  return prepareFile(options.traceFile);
}

namespace {
struct Timing {
  std::vector<double> stepSeconds;
  Clock::time_point origin;
};
} // namespace

static Timing runSteps(World &world, const Options &options,
                       const Shards &inputs, const Shards &outputs,
                       void *arena) {
  std::vector<void *> in = inputs.pointers(), out = outputs.pointers();
  for (int64_t step = 0; step < options.warmup; ++step)
    shoal_program_entry(in.data(), out.data(), arena);
  Recorder::get().reset(!options.traceFile.empty());
  world.barrier();
  Timing timing{{}, Clock::now()};
  for (int64_t step = 0; step < options.repeat; ++step) {
    world.barrier();
    Clock::time_point begin = Clock::now();
    {
      Timed timed(Activity::Step);
      shoal_program_entry(in.data(), out.data(), arena);
    }
    timing.stepSeconds.push_back(
        std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return timing;
}

static size_t deviceBytes(const Program &program) {
  size_t bytes = program.arenaBytes + Staging::get().bytes();
  for (const std::vector<Tensor> *tensors : {&program.inputs, &program.outputs})
    for (const Tensor &tensor : *tensors)
      bytes += tensor.localBytes();
  return bytes;
}

static void run(World &world, const Program &program, const Options &options) {
  world.agree(checkWorld(world, program));
  world.agree(checkInputNames(program, options));
  world.agree(prepareFiles(world, options));
  Shards inputs, outputs;
  Buffer arena;
  world.agree(allocateAll(world, program, inputs, outputs, arena));
  world.agree(loadInputs(program, options, world.rank(), inputs));
  Device::get().setUp(program.meshes, world.rank());

  Timing timing = runSteps(world, options, inputs, outputs, arena.get());
  Measurements measurements =
      measure(world, timing.stepSeconds, deviceBytes(program));
  if (!options.outputDir.empty())
    storeOutputs(world, program, options, outputs);
  Status written;
  if (world.isRoot() && !options.statsFile.empty())
    written = writeStats(program, measurements, options.statsFile);
  world.agree(written);
  if (!options.traceFile.empty())
    world.agree(writeTrace(world, program, timing.origin, options.traceFile));
  if (world.isRoot())
    std::puts(summaryText(program, measurements).c_str());
}

/// --help and --describe, which need no other process.
static int printOnly(const std::string &text) {
  if (!launchedAsOtherRank())
    std::fputs(text.c_str(), stdout);
  return 0;
}

int main(int argc, char **argv) {
  Result<Program> program = parseProgram(shoal_program_metadata);
  Result<Options> options = parseOptions(argc, argv);
  if (program && options && options->help)
    return printOnly(helpText(*program));
  if (program && options && options->describe)
    return printOnly(describeText(*program));
  limitThreads();
  World world(&argc, &argv);
  Status failed;
  if (!program)
    failed = program.error();
  else if (!options)
    failed = options.error();
  world.agree(failed);
  run(world, *program, *options);
  return 0;
}

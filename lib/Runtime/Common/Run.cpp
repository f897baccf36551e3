// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Run.h"
#include "Files.h"
#include "Report.h"
#include "shoal/Runtime/ABI.h"

#include <cstdio>

namespace shoal::rt {

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

static Timing runSteps(World &world, const Options &options, Target &target) {
  for (int64_t step = 0; step < options.warmup; ++step) {
    target.restoreDonated();
    target.step();
    target.synchronize();
  }
  target.prepareSteps();
  Recorder::get().reset(!options.traceFile.empty());
  world.barrier();
  Timing timing{{}, Clock::now()};
  for (int64_t step = 0; step < options.repeat; ++step) {
    target.restoreDonated();
    world.barrier();
    Clock::time_point begin = Clock::now();
    {
      Timed timed(Activity::Step);
      target.step();
      target.synchronize();
    }
    timing.stepSeconds.push_back(
        std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return timing;
}

static void run(World &world, const Program &program, const Options &options,
                Target &target) {
  world.agree(checkWorld(world, program));
  world.agree(checkInputNames(program, options));
  world.agree(prepareFiles(world, options));
  world.agree(target.prepare(world, program, options));
  world.agree(loadInputs(program, options, world.rank(), target));
  // Every step begins with the inputs that were given.
  if (options.repeat + options.warmup > 1 || options.cudaGraph)
    world.agree(target.keepDonated(program));

  Timing timing = runSteps(world, options, target);
  Measurements measurements =
      measure(world, timing.stepSeconds, target.deviceBytes());
  if (!options.outputDir.empty())
    storeOutputs(world, program, options, target);
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

int runProgram(int argc, char **argv, Target &target) {
  Result<Program> program = parseProgram(shoal_program_metadata);
  // Which flags there are depends on the program's target.
  Result<Options> options =
      parseOptions(argc, argv, program ? program->target : "");
  if (program && options && options->help)
    return printOnly(helpText(*program));
  if (program && options && options->describe)
    return printOnly(describeText(*program));
  World world(&argc, &argv);
  Status failed;
  if (!program)
    failed = program.error();
  else if (!options)
    failed = options.error();
  world.agree(failed);
  run(world, *program, *options, target);
  return 0;
}

} // namespace shoal::rt

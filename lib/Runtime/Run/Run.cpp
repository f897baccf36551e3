// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Run.h"
#include "../Job/Launcher.h"
#include "../Job/RankWatch.h"
#include "Checks.h"
#include "Files.h"
#include "HostCalls.h"
#include "Paths.h"
#include "Report.h"
#include "SameStart.h"
#include "TextFile.h"
#include "shoal/Runtime/ABI.h"

#include <csignal>
#include <cstdio>

namespace shoal::rt {

Status checkWorld(int ranks, const Program &program) {
  if (ranks == program.devices)
    return std::nullopt;
  std::string devices = std::to_string(program.devices);
  return Error{program.name + " is compiled for " + devices +
               " devices, but runs on " + std::to_string(ranks) +
               "; start it with mpirun -n " + devices};
}

static Status prepareFiles(const World &world, const Program &program,
                           const Options &options) {
  if (!world.isRoot())
    return std::nullopt;
  if (Status failed = checkPaths(program, options))
    return failed;
  if (!options.outputDir.empty())
    if (Status failed = prepareOutputs(program, options.outputDir))
      return failed;
  if (Status failed = prepareFile(options.statsFile))
    return failed;
  if (Status failed = prepareFile(options.censusFile))
    return failed;
  return prepareFile(options.traceFile);
}

namespace {
struct Timing {
  std::vector<double> stepSeconds;
  Clock::time_point origin;
};
} // namespace

/// Fails on all ranks where a check of a value does.
static Status runStep(World &world, const Program &program, Target &target) {
  Checks::get().beginStep(world, program);
  target.step();
  target.synchronize();
  return Checks::get().endStep();
}

static Result<Timing> runSteps(World &world, const Program &program,
                               const Options &options, Target &target) {
  for (int64_t step = 0; step < options.warmup; ++step) {
    target.restoreDonated();
    RankWatch::get().beginStep();
    if (Status failed = runStep(world, program, target))
      return *failed;
  }
  target.prepareSteps();
  Recorder::get().reset(!options.traceFile.empty());
  world.barrier();
  Timing timing{{}, Clock::now()};
  for (int64_t step = 0; step < options.repeat; ++step) {
    target.restoreDonated();
    RankWatch::get().beginStep();
    world.barrier();
    Clock::time_point begin = Clock::now();
    {
      Timed timed(Activity::Step);
      if (Status failed = runStep(world, program, target))
        return *failed;
    }
    timing.stepSeconds.push_back(
        std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return timing;
}

/// What has to be in place before the first step.
static Status prepareRun(World &world, const Program &program,
                         const Options &options, Target &target) {
  if (Status failed = checkSameMachines(world))
    return failed;
  if (Status failed = checkSameProgram(world))
    return failed;
  if (Status failed = world.agree(checkWorld(world.size(), program)))
    return failed;
  if (Status failed = checkSameFlags(world, options))
    return failed;
  if (Status failed = world.agree(checkInputNames(program, options)))
    return failed;
  if (Status failed = checkSameInputs(world, options))
    return failed;
  HostCalls::get().setSocket(options.hostCallSocket);
  if (Status failed = world.agree(HostCalls::get().check(program)))
    return failed;
  if (Status failed = world.agree(prepareFiles(world, program, options)))
    return failed;
  if (Status failed = world.agree(target.prepare(world, program, options)))
    return failed;
  if (Status failed = loadInputs(world, program, options, target))
    return failed;
  // Every step begins with the inputs that were given.
  if (options.repeat + options.warmup > 1 || options.cudaGraph)
    return world.agree(target.keepDonated(program));
  return std::nullopt;
}

/// Every rank returns the same.
static Status runWatched(World &world, const Program &program,
                         const Options &options, Target &target) {
  if (Status failed = prepareRun(world, program, options, target))
    return failed;
  Result<Timing> timing = runSteps(world, program, options, target);
  if (!timing)
    return timing.error();
  Measurements measurements = measure(world, timing->stepSeconds, target);
  Status written;
  if (!options.outputDir.empty())
    written = storeOutputs(world, program, options, target);
  if (written)
    return written;
  if (world.isRoot() && !options.statsFile.empty())
    written = writeStats(program, measurements, options.statsFile);
  if (world.isRoot() && !written && !options.censusFile.empty())
    written = writeCensus(options.censusFile);
  if (Status failed = world.agree(written))
    return failed;
  if (!options.traceFile.empty())
    if (Status failed = world.agree(
            writeTrace(world, program, timing->origin, options.traceFile)))
      return failed;
  if (world.isRoot())
    std::puts(summaryText(program, measurements).c_str());
  return std::nullopt;
}

/// GPUs have a watchdog of their own.
static Status run(World &world, const Program &program, const Options &options,
                  Target &target) {
  Result<int64_t> limit = collectiveTimeout();
  if (Status failed = world.agree(limit ? Status() : Status(limit.error())))
    return failed;
  if (program.target == "cpu")
    RankWatch::get().start(world, program,
                           options.collectiveTimeout.value_or(*limit));
  Status failed = runWatched(world, program, options, target);
  RankWatch::get().stop();
  return failed;
}

/// --help and --describe, which need no other process.
static int printOnly(const std::string &text) {
  if (!launchedAsOtherRank())
    std::fputs(text.c_str(), stdout);
  return 0;
}

/// Returns the exit status. MPI begins and ends here.
static int runInJob(int argc, char **argv, const Result<Program> &program,
                    const Result<Options> &options, Target &target) {
  World world(&argc, &argv);
  Status failed;
  if (!program)
    failed = program.error();
  else if (!options)
    failed = options.error();
  failed = world.agree(failed);
  if (!failed)
    failed = run(world, *program, *options, target);
  if (!failed)
    return 0;
  if (world.isRoot()) {
    std::fprintf(stderr, "error: %s\n", failed->message.c_str());
    std::fflush(stderr);
  }
  // A launcher may end everyone once the first leaves: rank 0 speaks first.
  world.barrier();
  return 1;
}

int runProgram(int argc, char **argv, Target &target) {
  Result<Program> program = parseProgram(shoal_program_metadata);
  // Which flags there are depends on the program's target.
  Result<Options> options =
      parseOptions(argc, argv, program ? program->target : "");
  if (program && options && options->help)
    return printOnly(helpText(*program));
  if (program && options && options->describe)
    return printOnly(describeText(*program) + target.describe(*program));
  // What is larger than a limit allows is an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
  int status = runInJob(argc, argv, program, options, target);
  if (status != 0)
    makeSureLauncherEnds();
  return status;
}

} // namespace shoal::rt

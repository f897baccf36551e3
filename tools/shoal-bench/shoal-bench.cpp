// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-benchmarks of the machine that it runs on, by the runtime's own calls:
// a machine file for shoalc --simulate. No program is run.

#include "CPU/Device.h"
#include "CPU/ThreadCount.h"
#include "CPU/Threads.h"
#include "Collectives.h"
#include "CompiledKernels.h"
#include "Kernels.h"
#include "Options.h"
#include "Products.h"
#include "shoal/Machine/ClusterFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"
#include "llvm/TargetParser/Host.h"

using namespace shoal;
using namespace shoal::bench;
using support::Status;

/// Two arrays and a result are behind all caches but the largest.
static constexpr size_t kMemoryBytes = size_t(32) << 20;

static support::Result<Cluster> measure(rt::World &world,
                                        const Options &options) {
  support::Result<CompiledKernels> compiled = CompiledKernels::compile(world);
  if (!compiled)
    return compiled.error();
  Memory memory(kMemoryBytes);
  Stopwatch stopwatch(world, options.seconds);
  Kernels kernels(stopwatch, memory);
  Products products(stopwatch, memory);
  Collectives collectives(world, stopwatch, memory);
  for (int pass = 0; pass < options.passes; ++pass) {
    stopwatch.pass();
    if (Status failed = compiled->pass())
      return *failed;
  }
  Cluster cluster;
  cluster.name = options.name;
  kernels.fit(cluster.chip);
  if (world.isRoot())
    compiled->fit(cluster.chip);
  products.fit(cluster.chip);
  if (options.table && world.isRoot())
    products.print(cluster.chip, llvm::errs()),
        compiled->print(cluster.chip, llvm::errs());
  cluster.levels = {collectives.level(cluster.chip)};
  cluster.source = llvm::formatv(
      "shoal-bench: {0}, {1} ranks of {2} threads, the least of {3} passes",
      llvm::sys::getHostCPUName(), world.size(), rt::threads(), options.passes);
  return cluster;
}

/// Opened before minutes are spent on what goes there. Rank 0's alone.
static Status openOutput(rt::World &world, const std::string &path,
                         std::unique_ptr<llvm::ToolOutputFile> &file) {
  if (!world.isRoot())
    return std::nullopt;
  std::error_code error;
  file = std::make_unique<llvm::ToolOutputFile>(path, error,
                                                llvm::sys::fs::OF_Text);
  if (error)
    return support::Error{"cannot write " + path + ": " + error.message()};
  return std::nullopt;
}

static Status run(rt::World &world, const Options &options) {
  support::Result<int> threads = rt::countThreads(world, std::nullopt);
  if (Status failed = world.agree(threads ? Status() : threads.error()))
    return failed;
  rt::setThreads(*threads);
  if (world.size() == 1)
    llvm::WithColor::warning(llvm::errs(), "shoal-bench")
        << "one rank sends nothing: the file is of one device, without links; "
           "start it with mpirun -n RANKS to measure them\n";
  std::unique_ptr<llvm::ToolOutputFile> file;
  if (Status failed = world.agree(openOutput(world, options.output, file)))
    return failed;
  support::Result<Cluster> cluster = measure(world, options);
  rt::Device::get().freeGroups();
  if (!cluster)
    return cluster.error();
  if (file) {
    file->os() << writeCluster(*cluster);
    file->keep();
  }
  return std::nullopt;
}

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  rt::World world(&argc, &argv);
  Status failed = run(world, options);
  if (failed && world.isRoot())
    llvm::WithColor::error(llvm::errs(), "shoal-bench")
        << failed->message << "\n";
  return failed ? 1 : 0;
}

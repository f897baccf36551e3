// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as the compiler makes them: programs of one kernel on one device,
// compiled by the shoalc that lies beside this tool, and run by each rank for
// itself, all at once.

#ifndef SHOAL_BENCH_COMPILEDKERNELS_H
#define SHOAL_BENCH_COMPILEDKERNELS_H

#include "Job/World.h"
#include "shoal/Machine/Cluster.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/raw_ostream.h"

namespace shoal::bench {

class CompiledKernels {
public:
  /// Compiles; fails on all ranks where a program is not compiled. Collective.
  static support::Result<CompiledKernels> compile(rt::World &world);
  ~CompiledKernels();
  CompiledKernels(CompiledKernels &&) = default;

  /// Runs all of them once more and keeps the least. Collective.
  support::Status pass();

  /// The operations a second by which prices are nearest to what was measured.
  void fit(Chip &chip) const;
  void print(const Chip &chip, llvm::raw_ostream &os) const;

private:
  /// As a simulated step has it.
  struct Task {
    int64_t bytes;
    double operations;
  };
  struct Kernel {
    std::string name;
    std::vector<Task> tasks;
    double seconds = std::numeric_limits<double>::infinity();
  };
  explicit CompiledKernels(rt::World &world) : world(&world) {}
  support::Status compileAll();
  std::string pathOf(llvm::StringRef name) const;
  static double priceOf(const Chip &chip, const Kernel &kernel);
  double errorOf(const Chip &chip) const;

  rt::World *world;
  /// Of this job, on each of its nodes.
  std::string folder;
  std::vector<Kernel> kernels;
};

} // namespace shoal::bench

#endif // SHOAL_BENCH_COMPILEDKERNELS_H

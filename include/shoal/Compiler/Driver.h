// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The stages of the compiler, as shoalc and the Python package run them.

#ifndef SHOAL_COMPILER_DRIVER_H
#define SHOAL_COMPILER_DRIVER_H

#include "shoal/Target/CPU/CPUTarget.h"
#include "shoal/Target/CUDA/CUDATarget.h"
#include "shoal/Transforms/Pipelines.h"
#include "llvm/Support/SourceMgr.h"

namespace shoal {

enum class Emit { Executable, Shared, Spmd, Report, Summary, Plan };
enum class Target { CPU, CUDA };

/// What a program looks at while it runs, for programs for CPUs. See
/// docs/guide/Debugging.md.
struct CheckOptions {
  /// Ops that make a NaN ("nan"), or an infinity, too ("all"); empty for none.
  std::string finite;
  /// Values that differ between devices that should hold the same.
  bool replicas = false;

  bool any() const { return !finite.empty() || replicas; }
};

/// With what the environment's SHOAL_CHECK_FINITE (1, all or nan) and
/// SHOAL_CHECK_REPLICAS (1) say, where `options` does not; 0 says nothing.
CheckOptions withEnvironment(CheckOptions options);

/// Sets options.optLevel to what the environment's SHOAL_OPT_LEVEL says, or the
/// most, where it is not set.
mlir::LogicalResult chooseOptLevel(mlir::MLIRContext &context,
                                   TargetOptions &options);

/// Whether the text is one of CheckOptions::finite.
bool isFiniteCheck(llvm::StringRef text);

/// What Emit::Plan chooses a mesh from, where the program has none.
struct MeshChoice {
  int64_t devices = 0;
  unsigned maxAxes = 2;
  /// Sizes of axes, "2x8"; empty: any.
  std::string mesh;
};

struct DriverOptions {
  std::string inputPath, outputPath, statsPath;
  /// The machine file of the cluster to simulate a step on; empty for none.
  std::string machinePath;
  /// Where to write the timeline of that step; empty for nowhere.
  std::string simulatedTracePath;
  /// What the most loaded device has of ragged work, over the mean.
  double imbalance = 1;
  /// The function to compile; empty for the one public function.
  std::string entry;
  Emit emit = Emit::Executable;
  Target target = Target::CPU;
  TargetOptions files;
  CUDAOptions cuda;
  PartitionOptions partition;
  MeshChoice plan;
  CheckOptions checks;
  /// Verifies the program behind each pass; else behind each pipeline, which
  /// takes a fifth less where many programs are compiled one after the other.
  bool verifyEach = true;
  /// Where to leave the page of Emit::Report, whatever is emitted; may be null.
  std::string *report = nullptr;
  /// Where to leave the forecast of `machinePath` as JSON, in place of printing
  /// it; may be null.
  std::string *forecast = nullptr;
  /// The folder of programs compiled before, see shoal/Compiler/Cache.h; empty
  /// for none.
  std::string cacheDirectory;
};

/// The file of the machine that a program is made for, by whose memory and
/// seconds: that of its shardings, else that of its simulation; empty for none.
inline const std::string &machineFileOf(const DriverOptions &options) {
  return options.partition.machineFile.empty() ? options.machinePath
                                               : options.partition.machineFile;
}

/// Adds what programs consist of; compile adds what their lowerings do.
void registerCompiler(mlir::DialectRegistry &registry);

/// Makes the program of one device of a module, where it is not one already.
mlir::LogicalResult partition(mlir::ModuleOp module,
                              const DriverOptions &options,
                              StageSeconds &seconds);

/// What is told of a compiled program, in JSON.
struct Compiled {
  /// The metadata of shoal/Runtime/ABI.h, and the object of `--stats`.
  std::string description, statistics;
};

/// Null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
parse(const std::shared_ptr<llvm::SourceMgr> &sources,
      mlir::MLIRContext &context, StageSeconds &seconds);

/// Compiles the main file of `sources` and writes what the options ask for, or
/// takes it from the cache. Without an output path Emit::Executable and
/// Emit::Shared write nothing. Errors go to the context's diagnostics.
mlir::FailureOr<Compiled>
compile(mlir::MLIRContext &context,
        const std::shared_ptr<llvm::SourceMgr> &sources,
        const DriverOptions &options, StageSeconds &seconds);

/// Compiles the file `inputPath`. Errors go to the context's diagnostics.
mlir::LogicalResult compile(mlir::MLIRContext &context,
                            const DriverOptions &options);

} // namespace shoal

#endif // SHOAL_COMPILER_DRIVER_H

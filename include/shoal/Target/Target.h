// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What all targets take and make.

#ifndef SHOAL_TARGET_TARGET_H
#define SHOAL_TARGET_TARGET_H

#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Memory/MemoryPlan.h"
#include "shoal/Target/ProgramDescription.h"
#include "llvm/ADT/ScopeExit.h"
#include <chrono>
#include <functional>
#include <optional>

namespace shoal {

/// Seconds of each stage of the compilation, in their order.
struct StageSeconds : std::vector<std::pair<std::string, double>> {
  /// Told of each stage when it begins.
  std::function<void(llvm::StringRef stage)> onStage;
};

/// Records how long `body` takes under `stage`.
template <typename Body>
auto timed(StageSeconds &seconds, llvm::StringRef stage, Body body) {
  if (seconds.onStage)
    seconds.onStage(stage);
  auto start = std::chrono::steady_clock::now();
  llvm::scope_exit record([&] {
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    seconds.emplace_back(stage.str(), passed.count());
  });
  return body();
}

/// Runs `build`'s passes on the module, with what the command line asks of
/// passes: to print the program between them, or their times. verifyEach: the
/// program is verified behind each pass, which finds whose fault it is; else
/// behind all of them.
mlir::LogicalResult
runPasses(mlir::ModuleOp module,
          llvm::function_ref<void(mlir::OpPassManager &)> build,
          bool verifyEach = true);

/// The path of LLVM's linker, several times as fast as the system's, which
/// links where this is empty. Its name there is `ld.lld`, as drivers call it.
std::string findQuickLinker();

/// LLVM's -O3.
constexpr unsigned kMaxOptLevel = 3;

struct TargetOptions {
  /// A shared library that exports the program's symbols, without main().
  bool shared = false;
  /// Where to write a shared library, too, with one made for an executable;
  /// empty for nowhere.
  std::string sharedPath;
  /// The folder of the runtime libraries.
  std::string runtimeDirectory;
  /// Where to leave program.mlir (LLVM's dialect), program.ll and program.o
  /// (its calls), kernels.ll (optimised) and kernels.o; empty for nowhere.
  std::string saveTempsDirectory;
  /// How much LLVM optimises kernels for the host, 0 to kMaxOptLevel, which is
  /// the default. Which kernels there are does not depend on it.
  std::optional<unsigned> optLevel;
  /// Objects, archives and shared libraries with the functions that custom_call
  /// names.
  std::vector<std::string> linkedFiles;
};

/// What is known of a program once it has been lowered.
struct LoweredProgram {
  ProgramDescription description;
  int64_t arenaBytes = 0;
  /// The most bytes of buffers, and outputs in shared memory, alive at one
  /// time: what any plan needs of that memory and the arena together.
  int64_t liveBytes = 0;
  /// Where the buffers are. What a target adds behind them in the arena, as
  /// constants, is not among them.
  MemoryPlan memory;

  int64_t peakBytes() const { return arenaBytes + description.argumentBytes(); }
};

/// Called with the per-device program as its description was made, before it is
/// lowered. May change nothing but locations.
using OnPrepared = llvm::function_ref<void(mlir::ModuleOp)>;

/// Called with the program's function when its memory has been planned; may
/// change nothing.
using OnPlanned = llvm::function_ref<void(mlir::func::FuncOp)>;

} // namespace shoal

#endif // SHOAL_TARGET_TARGET_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How products are computed, in which order ops run, and where their buffers
// lie.

#ifndef SHOAL_CONVERSION_MEMORY_PASSES_H
#define SHOAL_CONVERSION_MEMORY_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Machine/OneDNN.h"
#include <functional>
#include <optional>

namespace shoal {

/// Buffers begin at multiples of so many bytes of the arena and of the results'
/// memory.
inline constexpr int64_t kArenaAlignment = 64;

/// Results of fewer bytes have memory of their own: buffers that are worth a
/// place would not fit, and a caller who keeps a loss of every step is not to
/// keep all other results with it.
inline constexpr int64_t kLeastSharedResult = 1024;

/// Attributes that PlanMemory leaves on the function, in bytes.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "shoal.arena_bytes";
inline constexpr llvm::StringLiteral kResultBytesAttr = "shoal.result_bytes";
inline constexpr llvm::StringLiteral kLiveBytesAttr = "shoal.live_bytes";
/// And on an argument that is the memory of a result: where the result lies in
/// the results' memory instead, behind which the argument is not used.
inline constexpr llvm::StringLiteral kResultOffsetAttr = "shoal.result_offset";

/// By what part of what a device holds it may hold more so that collectives run
/// beside kernels, where nobody says another.
inline constexpr double kOverlapMemory = 1.0 / 16;

struct OpDuration {
  double seconds = 0;
  /// Of a collective the links that it holds: those of the same ones run one
  /// behind the other.
  int link = 0;
};

/// How long an op on buffers takes alone, on a machine that is described
/// elsewhere; nothing of one that nobody knows.
using OpDurations = std::function<std::optional<OpDuration>(mlir::Operation *)>;

/// What decides what runs beside collectives: durations, where they are known,
/// and the memory that it may take.
struct Overlap {
  OpDurations durations = {};
  double memory = kOverlapMemory;
};

#define GEN_PASS_DECL
#include "shoal/Conversion/Memory/Passes.h.inc"
/// By these durations where they are known, else by those of its own.
std::unique_ptr<mlir::Pass>
createOverlapCollectives(const OverlapCollectivesOptions &options,
                         OpDurations durations);

#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Memory/Passes.h.inc"

/// A plan for each product, the order of the ops on `machine`, and a place for
/// each buffer in one arena. On a device calls are those of its runtime, whose
/// collectives run while what comes behind them does, by `overlap`. A CPU may
/// have oneDNN.
void buildMemoryPipeline(mlir::OpPassManager &pm, MachineKind machine,
                         OneDNN oneDNN = OneDNN::None,
                         const Overlap &overlap = {});

} // namespace shoal

#endif // SHOAL_CONVERSION_MEMORY_PASSES_H

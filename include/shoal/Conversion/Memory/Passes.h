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

#define GEN_PASS_DECL
#include "shoal/Conversion/Memory/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Memory/Passes.h.inc"

/// A plan for each product, the order of the ops on `machine`, and a place for
/// each buffer in one arena. On a device calls are those of its runtime, whose
/// collectives run while what comes behind them does. A CPU may have oneDNN.
void buildMemoryPipeline(mlir::OpPassManager &pm, MachineKind machine,
                         OneDNN oneDNN = OneDNN::None);

} // namespace shoal

#endif // SHOAL_CONVERSION_MEMORY_PASSES_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From linalg ops to functions, or to kernels of a GPU and their launches.

#ifndef SHOAL_CONVERSION_KERNELS_PASSES_H
#define SHOAL_CONVERSION_KERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

/// What UseDeviceMemory leaves on the function: the bytes of constants, which
/// are the arena's last; and on each memref.global its place in the arena.
inline constexpr llvm::StringLiteral kConstantBytesAttr =
    "shoal.constant_bytes";
inline constexpr llvm::StringLiteral kArenaOffsetAttr = "shoal.arena_offset";

#define GEN_PASS_DECL
#include "shoal/Conversion/Kernels/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Kernels/Passes.h.inc"

/// A function for each linalg op, in tiles.
void buildKernelFunctionsPipeline(mlir::OpPassManager &pm);

/// Loops over elements for these ops, whose bodies are scalars that a CPU
/// knows (shoal/Conversion/Scalars/Passes.h).
void buildElementLoopsPipeline(mlir::OpPassManager &pm);

/// A kernel for each linalg op and its launches on `machine`; copies,
/// conditions and constants on the device, whose memory the host does not
/// reach.
void buildDeviceKernelsPipeline(mlir::OpPassManager &pm, MachineKind machine);

} // namespace shoal

#endif // SHOAL_CONVERSION_KERNELS_PASSES_H

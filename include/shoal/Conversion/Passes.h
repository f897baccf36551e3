// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes from a per-device program to LLVM's dialect.

#ifndef SHOAL_CONVERSION_PASSES_H
#define SHOAL_CONVERSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shoal {

/// Buffers begin at multiples of so many bytes of the arena.
inline constexpr int64_t kArenaAlignment = 64;

/// Attributes that PlanMemory leaves on the function, in bytes.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "shoal.arena_bytes";
inline constexpr llvm::StringLiteral kLiveBytesAttr = "shoal.live_bytes";
/// What UseDeviceMemory leaves there: the bytes of constants, which are the
/// arena's last; and on each memref.global its place in the arena.
inline constexpr llvm::StringLiteral kConstantBytesAttr =
    "shoal.constant_bytes";
inline constexpr llvm::StringLiteral kArenaOffsetAttr = "shoal.arena_offset";

/// What FuseFills leaves on a linalg op: for each result the constant that it
/// begins with, whatever its buffer holds, or unit.
inline constexpr llvm::StringLiteral kInitialAttr = "shoal.initial";

#define GEN_PASS_DECL
#include "shoal/Conversion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Passes.h.inc"

} // namespace shoal

#endif // SHOAL_CONVERSION_PASSES_H

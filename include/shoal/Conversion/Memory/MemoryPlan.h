// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which buffer stands where, and when: what PlanMemory decided, for reports.

#ifndef SHOAL_CONVERSION_MEMORYPLAN_H
#define SHOAL_CONVERSION_MEMORYPLAN_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"

namespace shoal {

/// The attribute that PlanMemory leaves on the function.
inline constexpr llvm::StringLiteral kMemoryPlanAttr = "shoal.memory_plan";

/// Buffers of a program in the arena and in the results' memory; results that
/// lie there are among them. Time is counted in steps: the ops, in program
/// order, at which a buffer is used for the first or last time.
struct MemoryPlan {
  struct Buffer {
    int64_t offset = 0, bytes = 0;
    /// The steps from which to which it holds a value, both included. The op
    /// of the first one makes the value.
    int64_t first = 0, last = 0;
    mlir::Type type;
    /// Whether `offset` counts in the results' memory instead of in the arena.
    bool inResults = false;
  };

  /// What a buffer holds where most is live: the first such place, and those
  /// behind it as long as no buffer's life begins or ends.
  struct Held {
    /// Its number in `buffers`.
    int64_t buffer = 0;
    /// The op that wrote it last before the end of that; unknown where what
    /// lies there are parts that others write.
    mlir::Location maker;
    /// Nobody reads or writes it there.
    bool isIdle = false;
    /// Nothing else is written to it later on.
    bool isLast = false;
    /// Who reads it there or behind, before something else is written to it.
    llvm::SmallVector<mlir::Location> readers;
  };
  /// More are not described.
  static constexpr size_t kMostHeld = 32;

  llvm::SmallVector<mlir::Location> steps;
  llvm::SmallVector<Buffer> buffers;
  /// Of those that are live where most is, the largest first.
  llvm::SmallVector<Held> held;
};

mlir::DictionaryAttr toAttribute(const MemoryPlan &plan,
                                 mlir::MLIRContext *context);

/// The inverse; `attr` is one that toAttribute made.
MemoryPlan toMemoryPlan(mlir::DictionaryAttr attr);

} // namespace shoal

#endif // SHOAL_CONVERSION_MEMORYPLAN_H

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

  llvm::SmallVector<mlir::Location> steps;
  llvm::SmallVector<Buffer> buffers;
};

mlir::DictionaryAttr toAttribute(const MemoryPlan &plan,
                                 mlir::MLIRContext *context);

/// The inverse; `attr` is one that toAttribute made.
MemoryPlan toMemoryPlan(mlir::DictionaryAttr attr);

} // namespace shoal

#endif // SHOAL_CONVERSION_MEMORYPLAN_H

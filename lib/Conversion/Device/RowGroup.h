// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Linalg ops on memrefs that work on the same rows: a softmax is three of them.
// A row of one needs nothing of another row, so that the threads of a row may
// go from op to op with the row's elements in registers. Decided from the ops
// alone, for --shoal-fuse-rows and for the kernel.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_ROWGROUP_H
#define SHOAL_LIB_CONVERSION_DEVICE_ROWGROUP_H

#include "KernelSchedule.h"

namespace shoal {

/// What the ops of a group have of a buffer: the same elements in all of them,
/// where one of them writes it.
struct RowSlot {
  mlir::Value buffer;
  /// At (row loops, column loops): the element offset + sum of strides.
  int64_t offset;
  llvm::SmallVector<int64_t> strides;
  /// One element a row: no stride along a column loop.
  bool isScalar;
  /// Whether an op reads it that no op before has written.
  bool isLoaded = false;
  /// The numbers of the ops that touch it first and last, and of the last that
  /// writes it.
  unsigned first, last;
  std::optional<unsigned> lastWrite;

  /// Whether it never gets memory.
  bool isLocal() const;
};

/// One op of a group. Its nest's loops are reduced from the columns on.
struct RowPhase {
  mlir::linalg::GenericOp op;
  LoopNest nest;
  KernelSchedule schedule;
  /// By operand; none of what is no buffer.
  llvm::SmallVector<std::optional<unsigned>> slots;
  /// Whether it has the columns' loops, or the rows' alone.
  bool hasColumns;
};

struct RowGroup {
  std::vector<RowPhase> phases;
  std::vector<RowSlot> slots;
  int64_t rows = 1;
  /// Columns by `schedule.vector`.
  int64_t units = 1;
  /// What the phases' schedules have in common.
  KernelSchedule schedule;

  /// How often the lanes of a row take a vector each.
  int64_t trips() const;
};

/// The group of `ops`, in their order. Nothing where they are none: one of them
/// has other loops than the rows and columns of the first reduction, reads what
/// another row writes, or reduces in an order that is not free; or where rows
/// are too long for registers, or too few for a device while they are long. A
/// result with `shoal.initial` does not read its buffer.
std::optional<RowGroup>
analyzeRowGroup(llvm::ArrayRef<mlir::linalg::GenericOp> ops,
                const DeviceLimits &limits);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_ROWGROUP_H

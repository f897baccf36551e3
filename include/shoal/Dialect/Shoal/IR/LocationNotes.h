// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a per-device program remembers of the global one, for reports.
//
// It stands in the ops' locations, as fused locations with metadata: there it
// changes nothing that is computed (attributes would keep equal ops of two
// global values apart), and comes along when passes rewrite an op.

#ifndef SHOAL_DIALECT_SHOAL_IR_LOCATIONNOTES_H
#define SHOAL_DIALECT_SHOAL_IR_LOCATIONNOTES_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include <optional>

namespace shoal {

/// The global value that a per-device value is a shard of.
struct LayoutNote {
  mlir::RankedTensorType globalType;
  ShardingAttr sharding;
  /// The axes along which each device holds a value of its own, as it stands
  /// in a region written for one device; null for none.
  AxesAttr manualAxes;
  /// Where the sharding came from, as in `shoal.origin`; null where unknown.
  mlir::StringAttr origin;
};

/// Notes what `value`, a result of an op, is a shard of; a note that is there
/// stays.
void noteLayout(mlir::OpResult value, const LayoutNote &note);

/// The note on `value`. Nothing where there is none, or where a pass has made
/// another op with the location: one whose type is not the shard's.
std::optional<LayoutNote> getLayoutNote(mlir::OpResult value);

/// The same, and removes the notes on the results of the op: for a pass that
/// makes ops with its location that compute parts of the value.
std::optional<LayoutNote> takeLayoutNote(mlir::OpResult value);

/// Notes on `to`, which takes the place of `from`, what is noted there.
void copyLayoutNote(mlir::Value from, mlir::Value to);

/// `loc` of an op of the forward pass as that of ops that its gradient is made
/// of: fused<"gradient">[loc].
mlir::Location noteGradient(mlir::Location loc);

/// Whether the op was made for a gradient, here or by JAX.
bool isOfGradient(mlir::Operation *op);

/// Numbers the op for those that meet its location after lowering.
void noteNumber(mlir::Operation *op, int64_t number);

/// The largest number in `loc`: where ops were fused, that of the last one.
std::optional<int64_t> getNumberNote(mlir::Location loc);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_LOCATIONNOTES_H

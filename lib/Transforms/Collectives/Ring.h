// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops in which values go round the devices of a group, and the blocks of
// rows that a device works on meanwhile.

#ifndef SHOAL_LIB_TRANSFORMS_COLLECTIVES_RING_H
#define SHOAL_LIB_TRANSFORMS_COLLECTIVES_RING_H

#include "mlir/IR/Builders.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

namespace shoal {

/// The devices of a group of `size` over `axes` as a ring: each passes what it
/// holds to the device of the next index. Counters and rows are tensor<i64>.
class Ring {
public:
  /// What the loops of the ring do in one step: the carried values before, and
  /// behind it.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value step, mlir::ValueRange carried)>;

  /// Builds the device's index at the builder's place.
  Ring(mlir::OpBuilder &builder, mlir::Location loc,
       mlir::FlatSymbolRefAttr mesh, AxesAttr axes, int64_t size);

  /// A constant.
  mlir::Value number(int64_t value);

  /// (own index + ahead - step) mod p, which must not be a remainder of
  /// something negative: 0 <= step <= ahead.
  mlir::Value indexAt(mlir::Value step, int64_t ahead);

  /// What the device before passes on.
  mlir::Value pass(mlir::Value value, mlir::StringAttr why);

  /// `body` for the steps first ... last - 1; a single step without a loop.
  llvm::SmallVector<mlir::Value> loop(int64_t first, int64_t last,
                                      mlir::ValueRange inits, Body body);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::FlatSymbolRefAttr mesh;
  AxesAttr axes;
  int64_t size;
  mlir::Value ownIndex;
};

/// A dimension of `size` rows in blocks of `rows`: block i has the rows
/// i * rows ... (i + 1) * rows - 1. Indices are tensor<i64>.
struct Blocks {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t dim, size, rows, count;

  int64_t padded() const { return rows * count; }
  bool isEven() const { return padded() == size; }

  /// `whole` with zeros behind, so that all blocks have all their rows.
  mlir::Value pad(mlir::Value whole) const;
  /// What `pad` added is cut off.
  mlir::Value unpad(mlir::Value whole) const;
  /// Block `index` of a padded tensor.
  mlir::Value take(mlir::Value whole, mlir::Value index) const;
  /// A padded tensor with that block replaced.
  mlir::Value put(mlir::Value whole, mlir::Value block,
                  mlir::Value index) const;
  /// The block, zero in the rows that the dimension does not have.
  mlir::Value mask(mlir::Value block, mlir::Value index) const;
};

/// A constant of zeros.
mlir::Value makeZeros(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_COLLECTIVES_RING_H

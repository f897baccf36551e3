// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Einsums done block by block while the blocks go round a ring of devices.

#ifndef SHOAL_LIB_TRANSFORMS_COLLECTIVES_WINDOWEDEINSUM_H
#define SHOAL_LIB_TRANSFORMS_COLLECTIVES_WINDOWEDEINSUM_H

#include "AxisLists.h"
#include "Ring.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Transforms/Collectives/Uniformity.h"

namespace shoal {

/// Why a collective stays as it is, and where the op is that is to blame.
struct Obstacle {
  std::string reason;
  std::optional<mlir::Location> culprit = std::nullopt;
};

/// An einsum of which one letter is cut into blocks. Operands either are a
/// block (of that letter) already or are whole.
class BlockedEinsum {
public:
  /// The letter is that of dimension `dim` of the operands that are `moving`,
  /// or of the result where `moving` is null.
  BlockedEinsum(EinsumOp op, mlir::Value moving, int64_t dim, int64_t count);

  EinsumOp getOp() const { return op; }
  std::optional<Obstacle> findObstacle() const;

  /// Whether the result has the letter; else blocks add up.
  bool isSplit() const { return resultDim >= 0; }
  /// Blocks along the letter in the result, whose dimension it must be.
  Blocks resultBlocks(mlir::OpBuilder &builder) const {
    return blocks(builder, resultDim);
  }

  /// The type of the einsum of one block, its elements wide enough for sums.
  mlir::RankedTensorType blockType() const;

  /// Built before a loop: the operands that are whole with their padding, null
  /// for those that move.
  llvm::SmallVector<mlir::Value> prepare(mlir::OpBuilder &builder) const;
  /// The einsum of block `index`, of `blockType`; `moved` is that block of the
  /// moving operand, `prepared` are the others.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Value moved,
                   mlir::Value index,
                   llvm::ArrayRef<mlir::Value> prepared) const;

  /// Bytes that a step holds besides what it is given, and that the padded
  /// operands take up as long as the loop runs.
  int64_t stepBytes() const;
  int64_t preparedBytes() const;

private:
  Blocks blocks(mlir::OpBuilder &builder, int64_t dim) const {
    return {builder, op.getLoc(), dim, size, rows, count};
  }
  mlir::RankedTensorType typeWithRows(mlir::Value value, int64_t dim,
                                      int64_t rows) const;

  /// Accessors of ops are not const.
  mutable EinsumOp op;
  mlir::Value moving;
  EinsumSpec spec;
  char letter;
  int64_t size, count, rows, resultDim;
  /// The dimension of the letter in each operand, -1 where it has none.
  llvm::SmallVector<int64_t, 2> operandDims;
};

/// `value` with elements of another type of its kind.
mlir::Value convert(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, mlir::Type elementType);

/// The only dimension with axes; nothing where there are several or none.
std::optional<int64_t> findOnlyDim(const AxesPerDim &axes);

/// einsum(all_gather(x)): x goes round.
class GatherWindow {
public:
  explicit GatherWindow(spmd::AllGatherOp op);

  mlir::Value getWhole() { return op.getResult(); }
  /// Nothing where the loop can be built, as far as no loop changes it.
  std::optional<Obstacle> findObstacle();
  /// The other part, which needs to know the function before any loop: devices
  /// are to have equal results, and would not, or not provably.
  std::optional<Obstacle> findEquality(const Uniformity &uniformity);
  /// Bytes that the loop holds instead of the gathered value, without
  /// obstacles.
  int64_t heldBytes();
  /// Replaces the einsums by a loop, without obstacles.
  void rewrite();

private:
  llvm::SmallVector<BlockedEinsum> einsums();
  int64_t getMovedBytes();
  std::optional<Obstacle> findReader();

  spmd::AllGatherOp op;
  /// The only dimension with axes, or -1.
  int64_t dim = -1;
  AxisRefs axes;
  int64_t count = 1;
};

/// reduce_scatter(einsum): the sums go round.
class ScatterWindow {
public:
  explicit ScatterWindow(spmd::ReduceScatterOp op);

  mlir::Value getWhole() { return op.getInput(); }
  std::optional<Obstacle> findObstacle();
  int64_t heldBytes();
  void rewrite();

private:
  BlockedEinsum einsum();

  spmd::ReduceScatterOp op;
  int64_t dim = -1;
  AxisRefs axes;
  int64_t count = 1;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_COLLECTIVES_WINDOWEDEINSUM_H

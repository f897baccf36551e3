// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// When the values of a block are held, before there are buffers.

#ifndef SHOAL_LIB_CONVERSION_FUSION_LIVEVALUES_H
#define SHOAL_LIB_CONVERSION_FUSION_LIVEVALUES_H

#include "../Utils/HeldValues.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal {

/// Whether the op's result is its operand in another shape.
bool isReshape(mlir::Operation *op);

/// What the use's op makes of the value without memory of its own: a reshape's
/// result, or what is behind a barrier; null of other ops.
mlir::Value viewBy(mlir::OpOperand &use);

/// Whether the op's results take no memory of their own: what they are is known
/// when the program is compiled, or they are an operand in another shape.
bool holdsNothing(mlir::Operation *op);

/// When the values of a block are held, by the places of its ops.
class LiveValues {
public:
  explicit LiveValues(mlir::Block &block);

  /// Of the op, or of that of the block which it is in.
  int64_t placeOf(mlir::Operation *op) const {
    return places.lookup(block.findAncestorOpInBlock(*op));
  }

  /// Where the value is used last; beyond all places where it is there anyway.
  int64_t lastUse(mlir::Value value) const;

  /// Where most is held, and how much.
  std::pair<int64_t, int64_t> findPeak() const;

private:
  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, int64_t> places;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_FUSION_LIVEVALUES_H

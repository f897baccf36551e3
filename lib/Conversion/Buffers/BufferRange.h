// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which bytes of memory a memref is.

#ifndef SHOAL_LIB_CONVERSION_BUFFERS_BUFFERRANGE_H
#define SHOAL_LIB_CONVERSION_BUFFERS_BUFFERRANGE_H

#include "mlir/IR/Value.h"

namespace shoal {

/// The buffer that `memref` is a part or another shape of. A view of the arena
/// is a buffer of its own.
mlir::Value findBuffer(mlir::Value memref);

/// The buffers that the op names: its operands, and what a linalg op's body
/// reads through indices.
llvm::SmallVector<mlir::Value> findMemrefs(mlir::Operation *op);

/// The bytes [begin, end) behind the address that `root`, an argument of the
/// function, an allocation or a constant, points to. They hold all elements of
/// a memref; where it has strides, also what lies between. Without a root it
/// may be any memory.
struct BufferRange {
  mlir::Value root;
  int64_t begin = 0;
  int64_t end = INT64_MAX;

  /// Of a memref. Where places are not known before the program runs, all of
  /// its root.
  static BufferRange of(mlir::Value memref);

  /// Roots are different memory: results do not lie in inputs, and nobody
  /// writes to a constant.
  bool overlaps(const BufferRange &other) const {
    return !root || !other.root ||
           (root == other.root && begin < other.end && other.begin < end);
  }
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_BUFFERS_BUFFERRANGE_H

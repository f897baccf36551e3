// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a device holds while a block runs, before anything is lowered.

#ifndef SHOAL_LIB_TRANSFORMS_COLLECTIVES_HELDBYTES_H
#define SHOAL_LIB_TRANSFORMS_COLLECTIVES_HELDBYTES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace shoal {

/// Bytes of the values of a block that are held while each of its ops runs, in
/// the order the ops have now. A value is held from the op that makes it to the
/// last that reads it, with what regions in between hold; arguments and
/// constants are there all the time and do not count. An estimate: an
/// elementwise op or one with regions puts its results where operands end,
/// other ops do not.
class HeldBytes {
public:
  explicit HeldBytes(mlir::Block &block);

  /// The most that is held while any op runs.
  int64_t most() const { return peak; }

  /// While `op` of the block runs, but for the results of `others`.
  int64_t at(mlir::Operation *op,
             const llvm::DenseSet<mlir::Operation *> &others) const;

private:
  struct Life {
    mlir::Operation *maker;
    int64_t first, last, bytes;
  };
  int64_t placeOf(mlir::Operation *op) const;
  void addLives(mlir::Operation &op);

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, int64_t> places;
  llvm::SmallVector<Life> lives;
  int64_t peak = 0;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_COLLECTIVES_HELDBYTES_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long the buffers of a function hold something, and places for them.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_BUFFERLIVES_H
#define SHOAL_LIB_CONVERSION_MEMORY_BUFFERLIVES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace shoal {

/// The ops of a function in program order, an op with regions from before to
/// behind what is in them.
class Places {
public:
  explicit Places(mlir::func::FuncOp func);

  std::pair<int64_t, int64_t> operator[](mlir::Operation *op) const {
    return ranges.lookup(op);
  }
  mlir::Operation *opAt(int64_t place) const { return ops[place]; }

private:
  int64_t add(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, std::pair<int64_t, int64_t>> ranges;
  llvm::SmallVector<mlir::Operation *> ops;
};

/// A buffer with the ops (by their place in the function) from which to which
/// it holds a value that is still read.
struct Buffer {
  /// What an op allocates, or an argument that is the memory of a result.
  mlir::Value memory;
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
  /// In the results' memory and, behind its end, the arena.
  int64_t offset = 0;

  /// A part that holds nothing before a place of its own.
  struct Piece {
    /// Bytes of the buffer.
    int64_t begin = 0, end = 0;
    int64_t first = 0;
    /// What was made apart and lies there, if it is one such.
    mlir::Value memory;
  };
  /// All of the buffer, in the order of memory, each at a multiple of
  /// kArenaAlignment; none where it begins as one.
  llvm::SmallVector<Piece, 0> pieces;

  bool isResult() const { return mlir::isa<mlir::BlockArgument>(memory); }
  mlir::MemRefType getType() const {
    return mlir::cast<mlir::MemRefType>(memory.getType());
  }
  int64_t end() const { return offset + bytes; }
};

/// The pieces of a buffer as buffers, or itself.
llvm::SmallVector<Buffer> listPieces(const Buffer &buffer);

/// The bytes of the two pieces of memory that buffers lie in.
struct MemorySize {
  int64_t results = 0, arena = 0;

  int64_t total() const { return results + arena; }
};

/// The results that have at least kLeastSharedResult bytes, which live from
/// their first use to the end, and the function's own buffers, both in program
/// order and without offsets. Fails where a buffer has a dynamic size or is
/// used outside of its block, after `report`.
mlir::FailureOr<llvm::SmallVector<Buffer>>
findBuffers(mlir::func::FuncOp func, const Places &places,
            llvm::function_ref<void(mlir::memref::AllocOp)> report);

/// What a collective reads stays until the first op behind it that must wait
/// for it (see --shoal-insert-waits), instead of until the collective's place:
/// nothing that comes between then waits because it needs the memory. Of all
/// such, in program order, those with which no more than `bytes` are live.
/// `wholes`: of memory that lies in another buffer's, that.
void keepUntilWaits(llvm::MutableArrayRef<Buffer> buffers,
                    const llvm::DenseMap<mlir::Value, mlir::Value> &wholes,
                    mlir::func::FuncOp func, const Places &places,
                    int64_t bytes);

/// How much larger the arena, which is of `size`, may become so that
/// collectives run in the background: `memory` times all that the device holds.
int64_t spareForBackground(mlir::func::FuncOp func, const MemorySize &size,
                           double memory);

/// Gives every buffer its offset, by the better of two orders. Results are one
/// behind the other; no buffer is half in their memory and half in the arena.
MemorySize placeBuffers(llvm::MutableArrayRef<Buffer> buffers);

/// The largest sum of the buffers that are live at one time.
int64_t countLiveBytes(llvm::ArrayRef<Buffer> buffers);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_BUFFERLIVES_H

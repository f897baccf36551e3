// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A linalg op as numbers: its loops and where each of its buffers is touched.
// What a kernel's shape is chosen from, without any IR.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_LOOPNEST_H
#define SHOAL_LIB_CONVERSION_DEVICE_LOOPNEST_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shoal {

struct Loop {
  int64_t range;
  bool isReduced;
};

/// Whether a kernel can read and write buffers of the type: a strided layout,
/// known here, and elements that are numbers.
bool isKernelBuffer(mlir::MemRefType type);

/// Elements [first, last] of a buffer.
struct ElementRange {
  int64_t first;
  int64_t last;
};

/// How one operand of the op is touched: at iteration (i0, i1, ...) the element
/// `offset + strides[0] * i0 + strides[1] * i1 + ...` behind its pointer.
struct Access {
  /// 0 for an operand that is no buffer, or that the op does not touch.
  int64_t elementBytes = 0;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  bool isRead = false;
  bool isWritten = false;

  // Of a buffer that the body reads through indices, see CapturedLoads.h: the
  // address has further terms, all multiples of `termUnit`, which change along
  // the loops that `jumps` says. They lead to anywhere in the buffer.
  std::optional<ElementRange> whole = std::nullopt;
  int64_t termUnit = 0;
  llvm::SmallVector<bool> jumps = {};

  bool jumpsAlong(unsigned loop) const {
    return loop < jumps.size() && jumps[loop];
  }
  bool isTouched() const { return isRead || isWritten; }
};

/// What of the reduced loops a result depends on.
enum class ResultKind {
  Full,    ///< All: an element is written once, as its operands are read.
  Reduced, ///< None: an element combines all their iterations.
  Mixed    ///< Some of them.
};

/// Where the index of one of the op's loops comes from: loop / divisor modulo
/// range; 0 where there is no loop left.
struct IndexOrigin {
  std::optional<unsigned> loop;
  int64_t divisor = 1;
  int64_t range = 1;
};

/// Loops of range 1 are left out, and neighbouring loops that every operand
/// runs through as through one are one loop: an elementwise op on dense buffers
/// has a single loop, whatever its rank.
struct LoopNest {
  llvm::SmallVector<Loop> loops;
  /// By the op's operands; behind these those of findCapturedLoads.
  llvm::SmallVector<Access> accesses;
  /// By the op's loops, before any were merged.
  llvm::SmallVector<IndexOrigin> indices;
  /// Operations per iteration.
  int64_t bodySize = 0;
  /// Whether every Reduced result is combined by an operation whose order is
  /// free (see Combiner.h).
  bool combinesInAnyOrder = true;

  /// The op has a loop of range 0: it does nothing.
  bool isEmpty() const;
  /// The product of the ranges of the parallel, or of the reduced loops.
  int64_t countIterations(bool reduced) const;
  ResultKind getResultKind(const Access &access) const;
  ElementRange getElementRange(const Access &access) const;
  /// Whether indices and addresses fit 32 bits, signed, with room for `spare`
  /// more than the last index.
  bool fitsInt32(int64_t spare) const;
};

/// The loops of an op on static memrefs. Errors: a layout that is not strided
/// and static, an indexing map that is not linear. `rows`: the loops from this
/// number on run through the columns of a row and count as reduced, whether the
/// op reduces them or not.
mlir::FailureOr<LoopNest>
analyzeLoops(mlir::linalg::GenericOp op,
             std::optional<unsigned> rows = std::nullopt);

/// The constant that the op's result begins with (see kInitialAttr); null if
/// its buffer holds that.
mlir::TypedAttr getInitial(mlir::linalg::GenericOp op, unsigned result);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_LOOPNEST_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Orders for the ops of a block in which collectives have work beside them.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_BLOCKSCHEDULE_H
#define SHOAL_LIB_CONVERSION_MEMORY_BLOCKSCHEDULE_H

#include "mlir/IR/Operation.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

/// Neighbouring ops of a block that may change places, and what each must come
/// behind: the ops whose results it uses, and those that touch the same memory.
/// Ops without effects, and allocations, are not among them: they go in front
/// of whoever uses them first.
class BlockSchedule {
public:
  /// Of the ops from `first` to the one in front of the next `isFence`, which
  /// is `getFence()`. What takes how long on `machine` decides.
  BlockSchedule(mlir::Operation *first, const Machine &machine);

  /// Nothing may move across it: it says not what it touches, is a function of
  /// the user's, or ends the block.
  static bool isFence(mlir::Operation *op);
  mlir::Operation *getFence() const { return fence; }

  bool hasCollectives() const { return !collectives.empty(); }

  /// The numbers of the ops in the order that the pass's description says; no
  /// op comes in front of one that stood more than `window` ops before it.
  llvm::SmallVector<unsigned> order(int64_t window) const;

  /// Moves the ops to this order; `order(0)` is that which they had at first.
  void apply(llvm::ArrayRef<unsigned> order);

private:
  struct Node {
    mlir::Operation *op;
    double seconds;
    bool isCollective;
    /// Whether a collective must come behind it.
    bool isNeeded = false;
    llvm::SmallVector<unsigned> before, behind;
  };

  void addMemoryEdges();
  void addUseEdges();
  void addEdge(unsigned from, unsigned to);
  void findNeeded();

  std::vector<Node> nodes;
  llvm::SmallVector<unsigned> collectives;
  mlir::Operation *fence;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_BLOCKSCHEDULE_H

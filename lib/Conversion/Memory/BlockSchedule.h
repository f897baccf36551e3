// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ops of a block between which collectives may have work beside them, and
// what each must come behind.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_BLOCKSCHEDULE_H
#define SHOAL_LIB_CONVERSION_MEMORY_BLOCKSCHEDULE_H

#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace shoal {

using DurationOf = llvm::function_ref<OpDuration(mlir::Operation *)>;

/// Neighbouring ops of a block that may change places, and what each must come
/// behind: the ops whose results it uses, and those that touch the same memory.
/// Ops without effects, and allocations, are not among them: they go in front
/// of whoever uses them first.
class BlockSchedule {
public:
  struct Node {
    mlir::Operation *op = nullptr;
    OpDuration duration;
    bool isCollective = false;
    /// Of a collective: it begins behind those before it there.
    int64_t stream = 0;
    /// Whether a collective must come behind it.
    bool isNeeded = false;
    /// The most long collectives that must come in front of it, one behind the
    /// other.
    unsigned level = 0;
    /// The lowest level of those that must come behind it; of the last its own.
    unsigned due = 0;
    /// Nodes, by number.
    llvm::SmallVector<unsigned> before, behind;
    /// Of `ownBuffers`, those that it touches.
    llvm::SmallVector<unsigned> buffers;
  };

  /// An allocation of the block.
  struct OwnBuffer {
    int64_t bytes;
    /// The first and the last node to touch it; -1 and the number of nodes
    /// where ops in front of this part do, and behind it.
    int64_t first, last;
    /// How many nodes touch it, and one more where ops behind do.
    unsigned users = 0;
  };

  /// Of the ops from `first` to the one in front of the next `isFence`, which
  /// is `getFence()`.
  BlockSchedule(mlir::Operation *first, DurationOf durationOf,
                const rt::CollectiveStreams &streams);

  /// Nothing may move across it: it says not what it touches, or ends the
  /// block.
  static bool isFence(mlir::Operation *op);
  mlir::Operation *getFence() const { return fence; }

  bool hasCollectives() const { return communicates; }

  /// In the order that they had at first, which is that of their numbers.
  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  llvm::ArrayRef<OwnBuffer> getBuffers() const { return buffers; }
  /// Bytes of these that are live at each node, in that order.
  std::vector<int64_t> listLiveBytes() const;

  /// Moves the ops to this order of their numbers.
  void apply(llvm::ArrayRef<unsigned> order);

private:
  void addMemoryEdges();
  void addUseEdges();
  void addEdge(unsigned from, unsigned to);
  void findNeeded();
  void findLevels();
  void findBuffers();
  void findOuterUses(const llvm::DenseMap<mlir::Value, unsigned> &numbers);

  std::vector<Node> nodes;
  std::vector<OwnBuffer> buffers;
  bool communicates = false;
  mlir::Operation *fence;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_BLOCKSCHEDULE_H

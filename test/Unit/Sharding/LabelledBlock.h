// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Blocks of tensors with labels of elements instead of values.

#ifndef SHOAL_TEST_UNIT_SHARDING_LABELLEDBLOCK_H
#define SHOAL_TEST_UNIT_SHARDING_LABELLEDBLOCK_H

#include "shoal/Sharding/Mesh.h"
#include "llvm/ADT/STLExtras.h"

namespace shoal::testing {

/// Which element of the whole tensor stands in a place, and the addends that
/// have gone into it, a bit for each position in the mesh of partial axes. Past
/// the end of a dimension there is none.
struct Label {
  int64_t element = -1;
  uint64_t addends = 0;
  bool operator==(const Label &) const = default;
};

/// A block in row-major order.
struct Block {
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<Label> labels;
};

/// Calls visit(index) for all index tuples of `shape`, row-major.
template <typename Visitor>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Visitor &&visit) {
  if (llvm::is_contained(shape, 0))
    return;
  llvm::SmallVector<int64_t, 4> index(shape.size(), 0);
  while (true) {
    visit(llvm::ArrayRef<int64_t>(index));
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

inline int64_t offsetOf(llvm::ArrayRef<int64_t> index,
                        llvm::ArrayRef<int64_t> shape) {
  int64_t offset = 0;
  for (auto [i, n] : llvm::zip_equal(index, shape))
    offset = offset * n + i;
  return offset;
}

/// Cuts `block` into the piece of a device with index `index[d]` of `counts[d]`
/// along each dimension.
inline Block cutPiece(const Block &block, llvm::ArrayRef<int64_t> index,
                      llvm::ArrayRef<int64_t> counts) {
  Block piece;
  for (auto [n, p] : llvm::zip_equal(block.shape, counts))
    piece.shape.push_back(shardSize(n, p));
  forEachIndex(piece.shape, [&](llvm::ArrayRef<int64_t> at) {
    llvm::SmallVector<int64_t, 4> from;
    bool exists = true;
    for (size_t d = 0; d < at.size(); ++d) {
      from.push_back(index[d] * piece.shape[d] + at[d]);
      exists &= from[d] < block.shape[d];
    }
    piece.labels.push_back(exists ? block.labels[offsetOf(from, block.shape)]
                                  : Label{});
  });
  return piece;
}

/// Puts `piece` into `block` at piece number `index[d]`, as far as there is
/// room.
inline void putPiece(const Block &piece, llvm::ArrayRef<int64_t> index,
                     Block &block) {
  size_t next = 0;
  forEachIndex(piece.shape, [&](llvm::ArrayRef<int64_t> at) {
    const Label &label = piece.labels[next++];
    llvm::SmallVector<int64_t, 4> to;
    bool exists = true;
    for (size_t d = 0; d < at.size(); ++d) {
      to.push_back(index[d] * piece.shape[d] + at[d]);
      exists &= to[d] < block.shape[d];
    }
    if (exists)
      block.labels[offsetOf(to, block.shape)] = label;
  });
}

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_LABELLEDBLOCK_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy files: little-endian, C order, format versions 1 to 3. A file
// holds a global array; a device reads and writes its block of it alone.
//
// bf16 has no NumPy type: it is written as '<V2', as ml_dtypes does; '|V2',
// '<u2' (the same bits) and '<f4' (converted) are read too. The floats of 8
// bits are written as '|V1' and read as this, as '|u1' and, rounded, as '<f4'.
//
// Complex numbers are pairs: a file of '<c8' or '<c16' is read as one of f32 or
// f64 with one more dimension, of size 2, and written where `isComplex`.
//
// Every error begins with the file's name and says what was found and what was
// expected.

#ifndef SHOAL_SUPPORT_NPY_H
#define SHOAL_SUPPORT_NPY_H

#include "shoal/Support/ElementType.h"
#include "shoal/Support/Result.h"

#include <string>
#include <vector>

namespace shoal::support {

/// A hyper-rectangle of a global array.
struct Block {
  std::vector<int64_t> offset;
  std::vector<int64_t> extent;
};

Block wholeBlock(std::span<const int64_t> shape);

/// A file's header as it stands, before anything is expected of it.
struct NpyHeader {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
  /// Where the elements begin.
  int64_t dataOffset = 0;
};

/// `bytes` is the beginning of a file. Errors carry no file name.
Result<NpyHeader> parseNpyHeader(std::string_view bytes);

/// The header that NumPy itself would write, padded to 64 bytes.
std::string makeNpyHeader(ElementType type, std::span<const int64_t> shape,
                          bool isComplex = false);

/// Reads `block` of the file's array into the low corner of `buffer`, dense
/// with shape `bufferShape`; what lies past the block is left alone. Fails
/// unless the file holds `type` and `shape` in full. Only the block's bytes
/// are read.
Status readNpyBlock(const std::string &path, ElementType type,
                    std::span<const int64_t> shape, const Block &block,
                    std::span<const int64_t> bufferShape, void *buffer);

Status readNpy(const std::string &path, ElementType type,
               std::span<const int64_t> shape, void *buffer);

/// Makes a file with its header and its full size, for writeNpyBlock.
Status createNpy(const std::string &path, ElementType type,
                 std::span<const int64_t> shape, bool isComplex = false);

/// The inverse of readNpyBlock, into a file made by createNpy with the same
/// type, shape and `isComplex`. Any number of processes may write disjoint
/// blocks.
Status writeNpyBlock(const std::string &path, ElementType type,
                     std::span<const int64_t> shape, const Block &block,
                     std::span<const int64_t> bufferShape, const void *buffer,
                     bool isComplex = false);

Status writeNpy(const std::string &path, ElementType type,
                std::span<const int64_t> shape, const void *buffer,
                bool isComplex = false);

/// Calls visit(globalIndex, bufferIndex, count) for each contiguous run of
/// elements that the block has in the global array and in the low corner of a
/// buffer, all counted in elements. No runs if the block is empty.
template <typename Visitor>
void forEachRun(std::span<const int64_t> globalShape, const Block &block,
                std::span<const int64_t> bufferShape, Visitor &&visit) {
  if (numElements(block.extent) == 0)
    return;
  // Dimensions [outer, rank) are one run: all but its first are whole.
  size_t rank = globalShape.size(), outer = rank;
  int64_t run = 1, globalInner = 1, bufferInner = 1;
  while (outer > 0) {
    --outer;
    run *= block.extent[outer];
    globalInner *= globalShape[outer];
    bufferInner *= bufferShape[outer];
    if (run != globalInner || run != bufferInner)
      break;
  }
  std::vector<int64_t> index(outer, 0);
  while (true) {
    int64_t global = 0, local = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t position = d < outer ? index[d] : 0;
      global = global * globalShape[d] + block.offset[d] + position;
      local = local * bufferShape[d] + position;
    }
    visit(global, local, run);
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == block.extent[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

} // namespace shoal::support

#endif // SHOAL_SUPPORT_NPY_H

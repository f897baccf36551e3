// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockCopy.h"

namespace shoal::rt {

void copyToWhole(const Blocks &blocks, ElementType type, int64_t member,
                 const void *block, void *whole, cudaStream_t stream) {
  Box box = blocks.locate(member);
  std::vector<int64_t> zero(blocks.whole.size(), 0);
  copyBox({box.extent, blocks.block, zero, blocks.whole, box.begin}, type,
          block, whole, stream);
}

void copyToBlock(const Blocks &blocks, ElementType type, int64_t member,
                 const void *whole, void *block, cudaStream_t stream) {
  Box box = blocks.locate(member);
  std::vector<int64_t> zero(blocks.whole.size(), 0);
  int64_t bytes = bytesOf(type, blocks.block);
  if (box.extent != blocks.block && bytes != 0)
    check(api.cudaMemsetAsync(block, 0, bytes, stream), "cudaMemsetAsync");
  copyBox({box.extent, blocks.whole, box.begin, blocks.block, zero}, type,
          whole, block, stream);
}

void copyRows(const Blocks &blocks, ElementType type, int64_t member,
              const void *block, void *rows, cudaStream_t stream) {
  Box box = blocks.locate(member);
  std::vector<int64_t> zero(blocks.whole.size(), 0);
  copyBox({box.extent, blocks.block, zero, box.extent, zero}, type, block, rows,
          stream);
}

void copyRowsToWhole(const Blocks &blocks, ElementType type, int64_t member,
                     const void *rows, void *whole, cudaStream_t stream) {
  Box box = blocks.locate(member);
  std::vector<int64_t> zero(blocks.whole.size(), 0);
  copyBox({box.extent, box.extent, zero, blocks.whole, box.begin}, type, rows,
          whole, stream);
}

} // namespace shoal::rt

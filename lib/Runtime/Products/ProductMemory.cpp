// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductMemory.h"

namespace shoal::rt {

static void *takePiece(Scratch &scratch, int64_t bytes, bool onDevice) {
  if (bytes == 0)
    return nullptr;
  char *piece = static_cast<char *>(scratch.take(bytes));
  if (!onDevice)
    return piece;
  constexpr auto alignment = static_cast<uintptr_t>(products::deviceAlignment);
  uintptr_t past = reinterpret_cast<uintptr_t>(piece) % alignment;
  return piece + (alignment - past) % alignment;
}

ProductMemory takeMemory(Scratch &scratch,
                         const products::ProductScratch &pieces,
                         bool onDevice) {
  return pieces.map(
      [&](int64_t bytes) { return takePiece(scratch, bytes, onDevice); });
}

EinsumMemory takeMemory(Scratch &scratch, const products::EinsumScratch &pieces,
                        bool onDevice) {
  EinsumMemory memory;
  for (size_t i = 0; i < 3; ++i)
    memory.wide[i] = takePiece(scratch, pieces.wide[i], onDevice);
  memory.product = takeMemory(scratch, pieces.product, onDevice);
  return memory;
}

} // namespace shoal::rt

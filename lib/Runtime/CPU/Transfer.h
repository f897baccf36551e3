// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the collectives share: counts that fit MPI's int, and bytes sent.

#ifndef SHOAL_LIB_RUNTIME_CPU_TRANSFER_H
#define SHOAL_LIB_RUNTIME_CPU_TRANSFER_H

#include "../Common/Numeric.h"
#include "Device.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace shoal::rt {

/// An MPI datatype of `bytes` bytes, which may exceed an int.
class BlockType {
public:
  explicit BlockType(int64_t bytes);
  ~BlockType();
  BlockType(const BlockType &) = delete;
  BlockType &operator=(const BlockType &) = delete;

  operator MPI_Datatype() const { return type; }

private:
  MPI_Datatype type;
};

int64_t bytesOf(ElementType type, std::span<const int64_t> shape);

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How many of the rows [begin, begin + count) lie before `end`.
inline int64_t rowsBefore(int64_t end, int64_t begin, int64_t count) {
  return std::clamp<int64_t>(end - begin, 0, count);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_TRANSFER_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the collectives share: counts that fit MPI's int.

#ifndef SHOAL_LIB_RUNTIME_CPU_TRANSFER_H
#define SHOAL_LIB_RUNTIME_CPU_TRANSFER_H

#include "../Common/Sizes.h"
#include "Device.h"

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

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_TRANSFER_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowNest.h"

namespace shoal::rt {

bool isVectorAligned(const void *data, support::ElementType type) {
  size_t bytes = std::min<size_t>(vectorElements * support::elementSize(type),
                                  sizeof(uint64_t) * 2);
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

bool fitsVectors(const Loops<2> &loops,
                 std::initializer_list<VectorOperand> operands) {
  if (loops.empty() || loops.back().size % vectorElements != 0)
    return false;
  for (const VectorOperand &operand : operands) {
    if (!isVectorAligned(operand.data, operand.type) ||
        loops.back().strides[operand.which] != 1)
      return false;
    for (size_t l = 0; l + 1 < loops.size(); ++l)
      if (loops[l].strides[operand.which] % vectorElements != 0)
        return false;
  }
  return true;
}

} // namespace shoal::rt

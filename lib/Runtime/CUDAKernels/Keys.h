// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements as unsigned numbers in the order of the ABI: NaN is greater than all
// and equals itself, -0 equals 0, integers are signed.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_KEYS_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_KEYS_H

#include "Elements.h"

namespace shoal::rt {

SHOAL_DEVICE uint64_t orderedKey(const void *in, int32_t type, int64_t at) {
  constexpr uint64_t sign = uint64_t(1) << 63;
  bool isFloat = type == SHOAL_RT_F32 || type == SHOAL_RT_F64 ||
                 type == SHOAL_RT_BF16 || type == SHOAL_RT_F16 ||
                 type == SHOAL_RT_F8E4M3FN || type == SHOAL_RT_F8E5M2;
  if (!isFloat)
    return static_cast<uint64_t>(loadElement<int64_t>(in, type, at)) ^ sign;
  auto value = loadElement<double>(in, type, at);
  if (isNaN(value))
    return ~uint64_t(0);
  if (value == 0)
    return sign;
  auto bits = std::bit_cast<uint64_t>(value);
  return bits & sign ? ~bits : bits | sign;
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_KEYS_H

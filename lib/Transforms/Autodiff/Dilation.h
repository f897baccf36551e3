// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_DILATION_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_DILATION_H

#include <cstdint>

namespace shoal {

/// The places of `rows` rows with `dilation - 1` holes between neighbours.
inline int64_t dilated(int64_t rows, int64_t dilation) {
  return rows == 0 ? 0 : (rows - 1) * dilation + 1;
}

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_DILATION_H

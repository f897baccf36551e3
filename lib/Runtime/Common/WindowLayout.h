// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WINDOWS, the part that the descriptors of gather and scatter share (ABI.h),
// read. The compiler includes this, too.

#ifndef SHOAL_LIB_RUNTIME_COMMON_WINDOWLAYOUT_H
#define SHOAL_LIB_RUNTIME_COMMON_WINDOWLAYOUT_H

#include "Numeric.h"

namespace shoal::rt {

/// Boxes of one tensor, the operand. Strides count elements.
struct WindowLayout {
  /// A dimension of the operand.
  struct Dim {
    int64_t size;
    /// Of the box along it, and its distance in the boxes' tensor.
    int64_t boxSize;
    int64_t boxStride;
    /// Where in an index its start is; -1 where boxes begin at 0.
    int64_t component;
    /// Its own stride.
    int64_t stride;

    /// The greatest start at which the box fits.
    int64_t lastStart() const { return size - boxSize; }
  };

  std::vector<Dim> dims;
  /// One iteration a box, with strides in the indices, the operand and the
  /// boxes' tensor.
  Loops<3> batch;

  explicit WindowLayout(const int64_t *desc) {
    dims.resize(*desc++);
    for (Dim &dim : dims) {
      dim.size = *desc++;
      dim.boxSize = *desc++;
      dim.boxStride = *desc++;
      dim.component = *desc++;
    }
    int64_t stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      dims[d].stride = stride;
      stride *= dims[d].size;
    }
    batch.resize(*desc++);
    for (Loop<3> &loop : batch) {
      loop.size = *desc++;
      for (int64_t &stride : loop.strides)
        stride = *desc++;
    }
  }
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_WINDOWLAYOUT_H

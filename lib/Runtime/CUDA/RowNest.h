// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element by element over two operands: a nest as rows along its last loop, in
// vectors where these fit.

#ifndef SHOAL_LIB_RUNTIME_CUDA_ROWNEST_H
#define SHOAL_LIB_RUNTIME_CUDA_ROWNEST_H

#include "KernelLibrary.h"

namespace shoal::rt {

/// Memory that a kernel accesses by the strides of operand `which`.
struct VectorOperand {
  const void *data;
  size_t which;
  support::ElementType type;
};

/// Whether `data` is aligned for vectors of the type.
bool isVectorAligned(const void *data, support::ElementType type);

/// Whether the last loop is dense in these operands and all vectors along it
/// are aligned.
bool fitsVectors(const Loops<2> &loops,
                 std::initializer_list<VectorOperand> operands);

/// Of CopyParameters and those like them. No loop is empty.
template <typename Parameters>
void setRows(Parameters &p, Loops<2> loops, bool vectors) {
  Loop<2> row{1, {0, 0}};
  if (!loops.empty()) {
    row = loops.back();
    loops.pop_back();
  }
  p.outer = nestOf(loops);
  p.rows = Rows(p.outer.count, vectors ? row.size / vectorElements : row.size);
  p.strides[0] = row.strides[0];
  p.strides[1] = row.strides[1];
  p.vectors = vectors;
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_ROWNEST_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Walks over tensors with arbitrary strides: what slicing, broadcasting,
// transposing, padding and taking diagonals have in common.

#ifndef SHOAL_LIB_REFERENCE_STRIDEDVIEW_H
#define SHOAL_LIB_REFERENCE_STRIDEDVIEW_H

#include "shoal/Reference/Tensor.h"

namespace shoal::reference {

/// The elements base + sum_d index_d * strides[d] of a tensor, for all indices
/// of `shape`.
struct StridedView {
  llvm::SmallVector<int64_t, 4> shape;
  llvm::SmallVector<int64_t, 4> strides;
  int64_t base = 0;

  /// All of a tensor of this shape.
  static StridedView whole(llvm::ArrayRef<int64_t> shape);
  /// Its dimensions in another order; some may be left out, at index 0.
  StridedView select(llvm::ArrayRef<int64_t> dims) const;
};

/// Calls visit(place) for each element's place, in row-major order of the
/// view's indices.
template <typename Visitor>
void forEachPlace(const StridedView &view, Visitor &&visit) {
  int64_t rank = view.shape.size();
  if (llvm::is_contained(view.shape, 0))
    return;
  llvm::SmallVector<int64_t, 4> index(rank, 0);
  int64_t place = view.base;
  while (true) {
    visit(place);
    int64_t d = rank - 1;
    for (; d >= 0; --d) {
      place += view.strides[d];
      if (++index[d] < view.shape[d])
        break;
      place -= view.strides[d] * view.shape[d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/// Calls visit(index) for each index of a tensor of this shape, in row-major
/// order.
template <typename Visitor>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Visitor &&visit) {
  if (llvm::is_contained(shape, 0))
    return;
  llvm::SmallVector<int64_t, 4> index(shape.size(), 0);
  while (true) {
    visit(llvm::ArrayRef<int64_t>(index));
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    while (d >= 0 && ++index[d] == shape[d])
      index[d--] = 0;
    if (d < 0)
      return;
  }
}

/// A tensor of this shape, all of whose elements are the one of `scalar`.
Tensor splat(const Tensor &scalar, llvm::ArrayRef<int64_t> shape);

/// A dense copy of the view.
Tensor gather(const Tensor &input, const StridedView &view);

/// Writes the elements of `input`, in row-major order, to the view's places.
void scatter(const Tensor &input, const StridedView &view, Tensor &result);

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_STRIDEDVIEW_H

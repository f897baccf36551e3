// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StridedView.h"

namespace shoal::reference {

StridedView StridedView::whole(llvm::ArrayRef<int64_t> shape) {
  return {llvm::SmallVector<int64_t, 4>(shape), rowMajorStrides(shape)};
}

StridedView StridedView::select(llvm::ArrayRef<int64_t> dims) const {
  StridedView view;
  view.base = base;
  for (int64_t dim : dims) {
    view.shape.push_back(shape[dim]);
    view.strides.push_back(strides[dim]);
  }
  return view;
}

Tensor splat(const Tensor &scalar, llvm::ArrayRef<int64_t> shape) {
  Tensor result(scalar.getType().withShape(shape));
  llvm::fill(result.getMutableElements(), scalar[0]);
  return result;
}

Tensor gather(const Tensor &input, const StridedView &view) {
  Tensor result(input.getType().withShape(view.shape));
  llvm::ArrayRef<Scalar> source = input.getElements();
  Scalar *target = result.getMutableElements().data();
  forEachPlace(view, [&](int64_t place) { *target++ = source[place]; });
  return result;
}

void scatter(const Tensor &input, const StridedView &view, Tensor &result) {
  const Scalar *source = input.getElements().data();
  llvm::MutableArrayRef<Scalar> target = result.getMutableElements();
  forEachPlace(view, [&](int64_t place) { target[place] = *source++; });
}

} // namespace shoal::reference

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Unfold.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;

/// With the padding and the holes written out.
static Value padded(TensorBuilder &b, Value x, ArrayRef<WindowDim> window,
                    Value fill) {
  SmallVector<int64_t> low, high, interior, shape;
  for (auto [size, dim] : llvm::zip_equal(tensorTypeOf(x).getShape(), window)) {
    low.push_back(dim.low);
    high.push_back(dim.high);
    interior.push_back(dim.baseDilation - 1);
    int64_t spread = size == 0 ? 0 : (size - 1) * dim.baseDilation + 1;
    shape.push_back(spread + dim.low + dim.high);
  }
  return PadOp::create(b, tensorTypeOf(x).clone(shape), x, fill, low, high,
                       interior);
}

/// The rows along `dim` that place `place` of its windows reads.
static Value rowsAt(TensorBuilder &b, Value x, int64_t dim,
                    const WindowDim &window, int64_t rows, int64_t place) {
  SmallVector<int64_t> limits(tensorTypeOf(x).getShape());
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  starts[dim] = place * window.windowDilation;
  limits[dim] = starts[dim] + (rows - 1) * window.stride + 1;
  strides[dim] = window.stride;
  return b.slice(x, starts, limits, strides);
}

Value shoal::unfold(TensorBuilder &b, Value x, ArrayRef<WindowDim> window,
                    ArrayRef<int64_t> rows, Value fill) {
  Value result = padded(b, x, window, fill);
  int64_t places = 1;
  for (auto [dim, one] : llvm::enumerate(window)) {
    SmallVector<Value> parts;
    for (int64_t place = 0; place < one.size; ++place) {
      Value part = rowsAt(b, result, dim, one, rows[dim], place);
      SmallVector<int64_t> shape(tensorTypeOf(part).getShape());
      shape.push_back(1);
      parts.push_back(b.reshape(part, shape));
    }
    // The places of later dimensions are the minor ones.
    result = b.concatenate(parts, tensorTypeOf(parts[0]).getRank() - 1);
    places *= one.size;
  }
  SmallVector<int64_t> shape(rows);
  shape.push_back(places);
  return b.reshape(result, shape);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor in parts of bounded size, for calls that go through it part by part.

#ifndef SHOAL_CALLS_BLOCKPARTS_H
#define SHOAL_CALLS_BLOCKPARTS_H

#include "shoal/Calls/Box.h"
#include "shoal/Calls/Sizes.h"

namespace shoal::calls {

/// Boxes that follow one another in the tensor's memory: some rows of one
/// dimension, at one index of those in front and with all of those behind.
class BlockParts {
public:
  /// At most `mostElements` elements each, and at least one. The tensor has a
  /// dimension and elements.
  BlockParts(const std::vector<int64_t> &shape, int64_t mostElements)
      : shape(shape) {
    while (dim + 1 < shape.size() && rowElements() > mostElements)
      ++dim;
    int64_t most = std::max<int64_t>(mostElements / rowElements(), 1);
    // Parts of about one size.
    rows = ceilDiv(shape[dim], ceilDiv(shape[dim], most));
  }

  /// Of the largest part.
  int64_t elements() const { return rows * rowElements(); }

  /// Calls visit(box) for each part, in order.
  template <typename Visitor>
  void forEach(Visitor &&visit) const {
    int64_t outer = support::numElements(std::span(shape).first(dim));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t row = 0; row < shape[dim]; row += rows)
        visit(partAt(o, row));
  }

private:
  int64_t rowElements() const {
    return support::numElements(std::span(shape).subspan(dim + 1));
  }

  Box partAt(int64_t outer, int64_t row) const {
    Box box{std::vector<int64_t>(shape.size(), 0), shape};
    for (size_t d = dim; d-- > 0; outer /= shape[d]) {
      box.begin[d] = outer % shape[d];
      box.extent[d] = 1;
    }
    box.begin[dim] = row;
    box.extent[dim] = std::min(rows, shape[dim] - row);
    return box;
  }

  std::vector<int64_t> shape;
  size_t dim = 0;
  int64_t rows = 1;
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_BLOCKPARTS_H

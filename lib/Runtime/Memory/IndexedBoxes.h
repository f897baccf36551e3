// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of one tensor whose places an array of indices gives: what gather and
// scatter have in common.

#ifndef SHOAL_LIB_RUNTIME_MEMORY_INDEXEDBOXES_H
#define SHOAL_LIB_RUNTIME_MEMORY_INDEXEDBOXES_H

#include "../Program/Calls.h"
#include "../Program/Numeric.h"

namespace shoal::rt {

/// Strides count elements.
class IndexedBoxes {
public:
  using Dim = WindowLayout::Dim;

  /// Starts are brought to where boxes fit if `clamps`.
  IndexedBoxes(const WindowLayout &layout, ElementType indexType, bool clamps);

  /// Those of the tensor that is indexed.
  const std::vector<Dim> &dims() const { return operandDims; }
  /// One iteration a box, with strides in the indices, the operand and the
  /// boxes' tensor.
  const Loops<3> &batches() const { return windows; }
  ElementType indexType() const { return type; }

  /// Calls visit(starts, operandBase, boxesBase) for each box, in row-major
  /// order of the boxes' tensor: its start in each dimension, and where the box
  /// would begin were it at 0.
  template <typename Visitor>
  void forEachBox(const void *indices, Visitor &&visit) const {
    forBoxes(indices, 0, count(), visit);
  }

  int64_t count() const { return iterations(windows); }

  /// So for the boxes begin ... end - 1.
  template <typename Visitor>
  void forBoxes(const void *indices, int64_t begin, int64_t end,
                Visitor &&visit) const {
    if (isEmpty(windows))
      return;
    std::vector<int64_t> starts(dims().size(), 0);
    forRange<3>(windows, begin, end, [&](const Offsets<3> &at) {
      for (size_t d = 0; d < starts.size(); ++d)
        if (dims()[d].component >= 0)
          starts[d] = readStart(indices, at[0], dims()[d]);
      visit(starts, at[1], at[2]);
    });
  }

private:
  int64_t readStart(const void *indices, int64_t at, const Dim &dim) const {
    int64_t start = readIndex(indices, at + dim.component);
    return clamps ? std::clamp<int64_t>(start, 0, dim.lastStart()) : start;
  }

  ElementType type;
  /// By the type of the indices.
  int64_t (*readIndex)(const void *indices, int64_t at);
  bool clamps;
  std::vector<Dim> operandDims;
  Loops<3> windows;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_MEMORY_INDEXEDBOXES_H

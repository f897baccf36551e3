// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of one tensor whose places an array of indices gives: what gather and
// scatter have in common.

#ifndef SHOAL_LIB_RUNTIME_COMMON_INDEXEDBOXES_H
#define SHOAL_LIB_RUNTIME_COMMON_INDEXEDBOXES_H

#include "Descriptor.h"
#include "WindowLayout.h"

namespace shoal::rt {

/// Reads the common part of the descriptors, see ABI.h. Strides count elements.
class IndexedBoxes {
public:
  using Dim = WindowLayout::Dim;

  explicit IndexedBoxes(Descriptor &reader);

  /// Those of the tensor that is indexed.
  const std::vector<Dim> &dims() const { return layout.dims; }
  /// One iteration a box, with strides in the indices, the operand and the
  /// boxes' tensor.
  const Loops<3> &batches() const { return layout.batch; }
  ElementType indexType() const { return type; }
  /// Whether each box comes whole before the next in the order of the boxes'
  /// tensor.
  bool boxesAreInOrder() const;

  /// Starts are brought to where boxes fit.
  void setClamps(bool value) { clamps = value; }

  /// Calls visit(starts, operandBase, boxesBase) for each box, in row-major
  /// order of the boxes' tensor: its start in each dimension, and where the box
  /// would begin were it at 0.
  template <typename Visitor>
  void forEachBox(const void *indices, Visitor &&visit) const {
    if (isEmpty(layout.batch))
      return;
    std::vector<int64_t> starts(dims().size(), 0);
    forEach<3>(layout.batch, [&](const Offsets<3> &at) {
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
  bool clamps = false;
  WindowLayout layout;
};

struct ScatterSpec {
  ElementType type;
  /// -1 to overwrite.
  int64_t kind;
  bool clamps;
  IndexedBoxes boxes;

  explicit ScatterSpec(const int64_t *desc) : ScatterSpec(Descriptor(desc)) {}

private:
  explicit ScatterSpec(Descriptor reader)
      : type(reader.type()), kind(reader.number()),
        clamps(reader.number() != 0), boxes(reader) {}
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_INDEXEDBOXES_H

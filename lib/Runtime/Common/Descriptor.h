// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the constant arrays that describe runtime calls, see ABI.h.

#ifndef SHOAL_LIB_RUNTIME_COMMON_DESCRIPTOR_H
#define SHOAL_LIB_RUNTIME_COMMON_DESCRIPTOR_H

#include "Mesh.h"
#include "Numeric.h"

namespace shoal::rt {

class Descriptor {
public:
  explicit Descriptor(const int64_t *desc) : cursor(desc) {}

  int64_t number() { return *cursor++; }
  ElementType type() { return static_cast<ElementType>(number()); }
  Kind kind() { return static_cast<Kind>(number()); }

  std::vector<int64_t> numbers(int64_t count) {
    std::vector<int64_t> values(cursor, cursor + count);
    cursor += count;
    return values;
  }

  Axes axes() {
    Axes list(number());
    for (SubAxis &axis : list) {
      axis.axis = number();
      axis.pre = number();
      axis.size = number();
    }
    return list;
  }

  std::vector<Axes> axesOfDims(int64_t rank) {
    std::vector<Axes> dims(rank);
    for (Axes &list : dims)
      list = axes();
    return dims;
  }

  const int64_t *position() const { return cursor; }

private:
  const int64_t *cursor;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_DESCRIPTOR_H

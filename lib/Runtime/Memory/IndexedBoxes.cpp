// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "IndexedBoxes.h"

namespace shoal::rt {

template <typename T>
static int64_t readAs(const void *indices, int64_t at) {
  return static_cast<const T *>(indices)[at];
}

static auto readerOf(ElementType type) -> int64_t (*)(const void *, int64_t) {
  switch (type) {
  case ElementType::I64:
    return readAs<int64_t>;
  case ElementType::I32:
    return readAs<int32_t>;
  case ElementType::I16:
    return readAs<int16_t>;
  case ElementType::I8:
    return readAs<int8_t>;
  default:
    fatal("indices that are not integers");
  }
}

IndexedBoxes::IndexedBoxes(const WindowLayout &layout, ElementType indexType,
                           bool clamps)
    : type(indexType), readIndex(readerOf(type)), clamps(clamps),
      operandDims(layout.dims) {
  for (const WindowLayout::Step &step : layout.steps)
    windows.push_back({step.size, {step.indices, step.operand, step.windows}});
}

} // namespace shoal::rt

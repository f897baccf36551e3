// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowShapes.h"

namespace shoal::rt {

Loops<2> windowLoops(const IndexedBoxes &boxes) {
  Loops<2> loops;
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    loops.push_back({dim.boxSize, {dim.stride, dim.boxStride}});
  return loops;
}

int64_t operandElements(const IndexedBoxes &boxes) {
  int64_t count = 1;
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    count *= dim.size;
  return count;
}

int64_t windowsExtent(const IndexedBoxes &boxes) {
  return extentOf(boxes.batches(), 2) + extentOf(windowLoops(boxes), 1) - 1;
}

Touched touchedIndices(const IndexedBoxes &boxes, const void *indices) {
  int64_t last = 0;
  bool any = false;
  for (const IndexedBoxes::Dim &dim : boxes.dims()) {
    last = std::max(last, dim.component);
    any = any || dim.component >= 0;
  }
  int64_t count = any ? extentOf(boxes.batches(), 0) + last : 0;
  auto width =
      static_cast<int64_t>(shoal::support::elementSize(boxes.indexType()));
  return {indices, count * width, Access::Read};
}

int64_t batchLoopOf(const IndexedBoxes::Dim &dim, const Loops<3> &batch) {
  for (size_t l = 0; l < batch.size(); ++l)
    if (dim.size > 1 && dim.boxSize == 1 && batch[l].strides[1] == dim.stride)
      return static_cast<int64_t>(l);
  return -1;
}

Windows describeWindows(const IndexedBoxes &boxes, bool clamps, bool merge,
                        const void *indices) {
  Loops<3> batch = boxes.batches();
  if (merge) {
    batch = simplify(std::move(batch), /*leader=*/2);
  } else {
    std::erase_if(batch, [](const Loop<3> &loop) { return loop.size == 1; });
    std::sort(batch.begin(), batch.end(),
              [](const Loop<3> &a, const Loop<3> &b) {
                return a.strides[2] > b.strides[2];
              });
  }
  Windows windows{};
  windows.batch = nestOf(batch);
  windows.window = nestOf(simplify(windowLoops(boxes), /*leader=*/1));
  if (boxes.dims().size() > maxNestLoops)
    tooManyLoops(boxes.dims().size());
  windows.rank = static_cast<int32_t>(boxes.dims().size());
  windows.indexType = static_cast<int32_t>(boxes.indexType());
  windows.clamps = clamps;
  windows.indices = indices;
  for (size_t d = 0; d < boxes.dims().size(); ++d) {
    const IndexedBoxes::Dim &dim = boxes.dims()[d];
    windows.dims[d] = {dim.size,   dim.boxSize,   dim.boxStride,
                       dim.stride, dim.component, batchLoopOf(dim, batch)};
  }
  return windows;
}

bool isNothing(const IndexedBoxes &boxes) {
  return isEmpty(boxes.batches()) || isEmpty(windowLoops(boxes));
}

} // namespace shoal::rt

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
  Loops<2> window = simplify(windowLoops(boxes), /*leader=*/1);
  Loop<2> row{1, {0, 0}};
  if (!window.empty()) {
    row = window.back();
    window.pop_back();
  }
  windows.outer = nestOf(window);
  windows.rowLength = row.size;
  windows.rowStrides[0] = row.strides[0];
  windows.rowStrides[1] = row.strides[1];
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

/// Calls use(number) for all that words divide but the row's size.
template <typename Shapes, typename Use>
static void forEachStride(Shapes &windows, Use use) {
  for (int l = 0; l < windows.outer.rank; ++l)
    for (auto &stride : windows.outer.strides[l])
      use(stride);
  for (int l = 0; l < windows.batch.rank; ++l) {
    use(windows.batch.strides[l][1]);
    use(windows.batch.strides[l][2]);
  }
  for (int d = 0; d < windows.rank; ++d)
    if (windows.dims[d].component >= 0)
      use(windows.dims[d].stride);
}

bool areWords(const Windows &windows, int64_t count) {
  if (windows.rowStrides[0] != 1 || windows.rowStrides[1] != 1 ||
      windows.rowLength % count != 0)
    return false;
  bool whole = true;
  forEachStride(windows,
                [&](int64_t stride) { whole = whole && stride % count == 0; });
  return whole;
}

int64_t useWords(Windows &windows, int64_t width, const void *operand,
                 const void *windowsTensor) {
  auto address = reinterpret_cast<uintptr_t>(operand) |
                 reinterpret_cast<uintptr_t>(windowsTensor);
  int64_t count = 16 / width;
  while (count > 1 && (address % static_cast<uintptr_t>(count * width) != 0 ||
                       !areWords(windows, count)))
    count /= 2;
  if (count == 1)
    return 1;
  windows.rowLength /= count;
  forEachStride(windows, [&](int64_t &stride) { stride /= count; });
  return count;
}

bool isNothing(const IndexedBoxes &boxes) {
  return isEmpty(boxes.batches()) || isEmpty(windowLoops(boxes));
}

} // namespace shoal::rt

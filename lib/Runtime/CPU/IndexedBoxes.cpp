// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gather and scatter.

#include "../Common/IndexedBoxes.h"
#include "../Common/Scratch.h"
#include "RowCopy.h"
#include "SharedLoops.h"
#include "shoal/Calls/IndexingScratch.h"

#include <algorithm>
#include <cstring>

using namespace shoal::rt;

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// What it costs to find a box, as bytes moved.
static constexpr double startBytes = 64;

static void copyCached(char *to, const char *from, int64_t bytes) {
  std::memcpy(to, from, bytes);
}

/// Copies rows: an innermost loop that is dense on both sides is one.
template <typename T>
static void gatherBoxes(const IndexedBoxes &boxes, const T *in,
                        const void *indices, T *out) {
  Loops<2> loops;
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    loops.push_back({dim.boxSize, {dim.stride, dim.boxStride}});
  if (isEmpty(loops))
    return;
  loops = simplify(std::move(loops), /*leader=*/1);
  int64_t row = 1;
  if (!loops.empty() && loops.back().strides == Offsets<2>{1, 1}) {
    row = loops.back().size;
    loops.pop_back();
  }
  auto elementBytes = static_cast<int64_t>(sizeof(T));
  // Of boxes of several rows threads may share one: who is behind it is not
  // the one that finishes.
  bool streams =
      loops.empty() && boxes.count() * row * elementBytes >= streamedBytes;
  auto copyRow = streams ? streamRow : copyCached;
  double rowBytes = 2.0 * static_cast<double>(row) * sizeof(T);
  auto copyBox = [&](const std::vector<int64_t> &starts, int64_t operandBase,
                     int64_t boxesBase) {
    for (size_t d = 0; d < starts.size(); ++d)
      operandBase += starts[d] * boxes.dims()[d].stride;
    // Of its own threads where there is one box alone.
    forEachShared<2>(loops, rowBytes, [&](const Offsets<2> &at) {
      copyRow(reinterpret_cast<char *>(out + boxesBase + at[1]),
              reinterpret_cast<const char *>(in + operandBase + at[0]),
              row * elementBytes);
    });
  };
  double boxBytes = rowBytes * static_cast<double>(iterations(loops));
  parallelFor({boxes.count(), boxBytes + startBytes},
              [&](int64_t begin, int64_t end) {
                boxes.forBoxes(indices, begin, end, copyBox);
                if (streams)
                  finishStreams();
              });
}

extern "C" void shoal_rt_gather(const int64_t *desc, const void *in,
                                const void *indices, void *out) {
  const auto &call = lookUp<GatherCall>(desc);
  IndexedBoxes boxes(call.windows, call.indexType, /*clamps=*/true);
  // Nothing is computed: the size is all that counts.
  switch (shoal::support::elementSize(call.type)) {
  case 8:
    return gatherBoxes(boxes, static_cast<const int64_t *>(in), indices,
                       static_cast<int64_t *>(out));
  case 4:
    return gatherBoxes(boxes, static_cast<const int32_t *>(in), indices,
                       static_cast<int32_t *>(out));
  case 2:
    return gatherBoxes(boxes, static_cast<const int16_t *>(in), indices,
                       static_cast<int16_t *>(out));
  default:
    return gatherBoxes(boxes, static_cast<const int8_t *>(in), indices,
                       static_cast<int8_t *>(out));
  }
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

namespace {
/// Operand 0 is the tensor, operand 1 the boxes' tensor.
struct Box {
  int64_t operandBase;
  int64_t boxesBase;
  Loops<2> loops;
};
} // namespace

/// The part of a box that lies inside; false where nothing does.
static bool clip(const IndexedBoxes &boxes, const std::vector<int64_t> &starts,
                 Box &box) {
  for (size_t d = 0; d < starts.size(); ++d) {
    const IndexedBoxes::Dim &dim = boxes.dims()[d];
    // Written so that no sum overflows, whatever the index.
    if (starts[d] >= dim.size || starts[d] <= -dim.boxSize)
      return false;
    int64_t begin = std::max<int64_t>(-starts[d], 0);
    int64_t end = std::min(dim.boxSize, dim.size - starts[d]);
    if (begin >= end)
      return false;
    box.operandBase += (starts[d] + begin) * dim.stride;
    box.boxesBase += begin * dim.boxStride;
    box.loops[d] = {end - begin, {dim.stride, dim.boxStride}};
  }
  return true;
}

/// Whether all of a box lies inside, as most do: nothing of it is clipped.
static bool isInside(const IndexedBoxes &boxes,
                     const std::vector<int64_t> &starts) {
  for (size_t d = 0; d < starts.size(); ++d)
    if (starts[d] < 0 || starts[d] > boxes.dims()[d].lastStart())
      return false;
  return true;
}

/// The part of the row, of a box that is clipped, in the columns begin ... end
/// - 1 of the tensor. `column` is the row's first.
static Loop<2> cutRow(Box &box, Loop<2> row, int64_t column, int64_t begin,
                      int64_t end) {
  int64_t first = std::max<int64_t>(begin - column, 0);
  int64_t last = std::min(end - column, row.size);
  box.operandBase += first * row.strides[0];
  box.boxesBase += first * row.strides[1];
  return {std::max<int64_t>(last - first, 0), row.strides};
}

template <typename T, typename Combine>
static void combineRow(const Loop<2> &row, T *to, const T *from,
                       Combine combine) {
  if (row.strides == Offsets<2>{1, 1}) {
    for (int64_t i = 0; i < row.size; ++i)
      to[i] = combine(to[i], from[i]);
    return;
  }
  for (int64_t i = 0; i < row.size; ++i)
    to[i * row.strides[0]] =
        combine(to[i * row.strides[0]], from[i * row.strides[1]]);
}

/// What the boxes do to the columns begin ... end - 1, places along the last
/// dimension; all there is of a tensor without dimensions.
template <typename T, typename Combine>
static void scatterColumns(const IndexedBoxes &boxes, const void *indices,
                           const T *updates, T *out, int64_t begin, int64_t end,
                           Combine combine) {
  Loops<2> whole;
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    whole.push_back({dim.boxSize, {dim.stride, dim.boxStride}});
  Loop<2> wholeRow{1, {1, 1}};
  if (!whole.empty()) {
    wholeRow = whole.back();
    whole.pop_back();
    whole = simplify(std::move(whole), /*leader=*/1);
  }
  auto combineRows = [&](const Box &box, const Loops<2> &loops,
                         const Loop<2> &row) {
    forEach<2>(loops, [&](const Offsets<2> &at) {
      combineRow(row, out + box.operandBase + at[0],
                 updates + box.boxesBase + at[1], combine);
    });
  };
  Box box;
  boxes.forEachBox(indices, [&](const std::vector<int64_t> &starts,
                                int64_t operandBase, int64_t boxesBase) {
    box.operandBase = operandBase;
    box.boxesBase = boxesBase;
    if (isInside(boxes, starts)) {
      for (size_t d = 0; d < starts.size(); ++d)
        box.operandBase += starts[d] * boxes.dims()[d].stride;
      int64_t column = starts.empty() ? 0 : starts.back();
      Loop<2> row = cutRow(box, wholeRow, column, begin, end);
      return combineRows(box, whole, row);
    }
    box.loops.resize(starts.size());
    if (!clip(boxes, starts, box))
      return;
    Loop<2> row = box.loops.back();
    box.loops.pop_back();
    row = cutRow(box, row, std::max<int64_t>(starts.back(), 0), begin, end);
    combineRows(box, box.loops, row);
  });
}

/// The only box, as of a dynamic_update_slice: no two elements meet, so that
/// threads share its rows, of which dense ones side by side are one.
template <typename T, typename Combine>
static void scatterOnlyBox(const IndexedBoxes &boxes, const void *indices,
                           const T *updates, T *out, Combine combine) {
  constexpr int64_t strip = 4096;
  boxes.forEachBox(indices, [&](const std::vector<int64_t> &starts,
                                int64_t operandBase, int64_t boxesBase) {
    Box box{operandBase, boxesBase, Loops<2>(starts.size())};
    if (!clip(boxes, starts, box))
      return;
    box.loops = simplify(std::move(box.loops), /*leader=*/0);
    Loop<2> row{1, {1, 1}};
    if (!box.loops.empty()) {
      row = box.loops.back();
      box.loops.pop_back();
    }
    forEachStrip<2>(
        box.loops, row, strip, 3 * sizeof(T),
        [&](const Offsets<2> &at, int64_t /*first*/, int64_t count) {
          combineRow({count, row.strides}, out + box.operandBase + at[0],
                     updates + box.boxesBase + at[1], combine);
        });
  });
}

/// Boxes may meet: each thread has columns of its own and goes through all
/// boxes, in their order.
template <typename T, typename Combine>
static void scatterBoxes(const IndexedBoxes &boxes, const void *indices,
                         const T *updates, T *out, Combine combine) {
  if (boxes.count() == 1)
    return scatterOnlyBox(boxes, indices, updates, out, combine);
  // Of fewer columns finding the boxes would cost as much.
  constexpr int64_t leastColumns = 64;
  int64_t columns = boxes.dims().empty() ? 1 : boxes.dims().back().size;
  double elements = static_cast<double>(boxes.count());
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    elements *= static_cast<double>(dim.boxSize);
  int64_t width = boxes.dims().empty() ? 1 : boxes.dims().back().boxSize;
  int64_t parts = std::clamp<int64_t>(width / leastColumns, 1, threads());
  parallelFor({parts, elements * 3 * sizeof(T) / static_cast<double>(parts)},
              [&](int64_t begin, int64_t end) {
                scatterColumns(boxes, indices, updates, out,
                               columns * begin / parts, columns * end / parts,
                               combine);
              });
}

/// Those inside, in the order of the updates.
static std::span<ScatterTarget> listTargets(const IndexedBoxes &boxes,
                                            const void *indices,
                                            std::span<ScatterTarget> targets) {
  size_t count = 0;
  Box box;
  boxes.forEachBox(indices, [&](const std::vector<int64_t> &starts,
                                int64_t operandBase, int64_t boxesBase) {
    box.operandBase = operandBase;
    box.boxesBase = boxesBase;
    box.loops.resize(starts.size());
    if (!clip(boxes, starts, box))
      return;
    forEach<2>(box.loops, [&](const Offsets<2> &at) {
      targets[count++] = {box.boxesBase + at[1], box.operandBase + at[0]};
    });
  });
  targets = targets.first(count);
  std::sort(
      targets.begin(), targets.end(),
      [](ScatterTarget a, ScatterTarget b) { return a.update < b.update; });
  return targets;
}

/// Windows that lie in front of what they are repeated along go element by
/// element, in the order of the updates.
template <typename T, typename Combine>
static void scatterInOrder(const ScatterCall &call, const void *indices,
                           const void *updates, void *inout, void *scratch,
                           Combine combine) {
  IndexedBoxes boxes(call.windows, call.indexType, call.clamps);
  const T *from = static_cast<const T *>(updates);
  T *to = static_cast<T *>(inout);
  int64_t count = countWindows(call.windows) * elementsOfWindow(call.windows);
  if (count == 0)
    return;
  if (areInOrder(call.windows))
    return scatterBoxes(boxes, indices, from, to, combine);
  Scratch pieces(scratch, scratchBytes(call, /*onDevice=*/false));
  auto targets = pieces.take<ScatterTarget>(count);
  for (auto [update, place] : listTargets(boxes, indices, targets))
    to[place] = combine(to[place], from[update]);
}

extern "C" void shoal_rt_scatter(const int64_t *desc, const void *indices,
                                 const void *updates, void *inout,
                                 void *scratch) {
  const auto &call = lookUp<ScatterCall>(desc);
  if (!call.kind)
    return dispatchType(call.type, [&]<typename T>() {
      scatterInOrder<T>(call, indices, updates, inout, scratch,
                        [](T, T update) { return update; });
    });
  dispatchKind(call.type, *call.kind, [&]<typename T, Kind k>() {
    scatterInOrder<T>(call, indices, updates, inout, scratch,
                      [](T a, T b) { return combine<k>(a, b); });
  });
}

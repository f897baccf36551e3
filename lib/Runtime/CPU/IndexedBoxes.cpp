// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gather and scatter.

#include "../Memory/IndexedBoxes.h"
#include "../Memory/Scratch.h"
#include "CombineRow.h"
#include "RowCopy.h"
#include "SharedLoops.h"
#include "shoal/Calls/IndexingScratch.h"
#include "shoal/Support/Threshold.h"

#include <algorithm>
#include <cstring>

using namespace shoal::rt;

static int64_t sizeOf(ElementType type) {
  return static_cast<int64_t>(shoal::support::elementSize(type));
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// What it costs to find a box, as bytes moved.
static constexpr double startBytes = 64;

static void copyCached(char *to, const char *from, int64_t bytes) {
  std::memcpy(to, from, bytes);
}

/// Copies rows: an innermost loop that is dense on both sides is one. Nothing
/// is computed: the size of an element is all that counts.
static void gatherBoxes(const IndexedBoxes &boxes, int64_t elementBytes,
                        const char *in, const void *indices, char *out) {
  Loops<2> loops;
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    loops.push_back({dim.boxSize, {dim.stride, dim.boxStride}});
  if (isEmpty(loops))
    return;
  loops = simplify(std::move(loops), /*leader=*/1);
  int64_t row = elementBytes;
  if (!loops.empty() && loops.back().strides == Offsets<2>{1, 1}) {
    row *= loops.back().size;
    loops.pop_back();
  }
  // Of boxes of several rows threads may share one: who is behind it is not
  // the one that finishes.
  bool streams =
      loops.empty() && streamedBytes.isReachedBy(boxes.count() * row);
  auto copyRow = streams ? streamRow : copyCached;
  double rowBytes = 2.0 * static_cast<double>(row);
  auto copyBox = [&](const std::vector<int64_t> &starts, int64_t operandBase,
                     int64_t boxesBase) {
    for (size_t d = 0; d < starts.size(); ++d)
      operandBase += starts[d] * boxes.dims()[d].stride;
    // Of its own threads where there is one box alone.
    forEachShared<2>(loops, rowBytes, [&](const Offsets<2> &at) {
      copyRow(out + (boxesBase + at[1]) * elementBytes,
              in + (operandBase + at[0]) * elementBytes, row);
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
  gatherBoxes(boxes, sizeOf(call.type), static_cast<const char *>(in), indices,
              static_cast<char *>(out));
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

namespace {
/// Both tensors of a scatter, and what one does to the other.
struct Update {
  CombineRow combineRow;
  int64_t elementBytes;
  const char *from;
  char *to;

  /// A row that begins at these elements.
  void run(const Loop<2> &row, int64_t toAt, int64_t fromAt) const {
    combineRow(row.size, to + toAt * elementBytes, row.strides[0],
               from + fromAt * elementBytes, row.strides[1]);
  }
};
} // namespace

/// What the boxes do to the columns begin ... end - 1, places along the last
/// dimension; all there is of a tensor without dimensions.
static void scatterColumns(const IndexedBoxes &boxes, const void *indices,
                           const Update &update, int64_t begin, int64_t end) {
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
      update.run(row, box.operandBase + at[0], box.boxesBase + at[1]);
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

static const shoal::support::Threshold
    strip("elements of a scattered row that threads share", 4096);

/// The only box, as of a dynamic_update_slice: no two elements meet, so that
/// threads share its rows, of which dense ones side by side are one.
static void scatterOnlyBox(const IndexedBoxes &boxes, const void *indices,
                           const Update &update) {
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
        box.loops, row, strip, 3 * static_cast<double>(update.elementBytes),
        [&](const Offsets<2> &at, int64_t /*first*/, int64_t count) {
          update.run({count, row.strides}, box.operandBase + at[0],
                     box.boxesBase + at[1]);
        });
  });
}

static const shoal::support::Threshold
    leastColumns("columns of a scatter that threads share", 128);

/// Boxes may meet: each thread has columns of its own and goes through all
/// boxes, in their order.
static void scatterBoxes(const IndexedBoxes &boxes, const void *indices,
                         const Update &update) {
  if (boxes.count() == 1)
    return scatterOnlyBox(boxes, indices, update);
  // Of fewer columns finding the boxes would cost as much.
  constexpr int64_t columnsOfPart = 64;
  int64_t columns = boxes.dims().empty() ? 1 : boxes.dims().back().size;
  double elements = static_cast<double>(boxes.count());
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    elements *= static_cast<double>(dim.boxSize);
  int64_t width = boxes.dims().empty() ? 1 : boxes.dims().back().boxSize;
  int64_t parts = leastColumns.isReachedBy(width)
                      ? std::min<int64_t>(width / columnsOfPart, threads())
                      : 1;
  double bytes = elements * 3 * static_cast<double>(update.elementBytes);
  parallelFor({parts, bytes / static_cast<double>(parts)},
              [&](int64_t begin, int64_t end) {
                scatterColumns(boxes, indices, update, columns * begin / parts,
                               columns * end / parts);
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
extern "C" void shoal_rt_scatter(const int64_t *desc, const void *indices,
                                 const void *updates, void *inout,
                                 void *scratch) {
  const auto &call = lookUp<ScatterCall>(desc);
  IndexedBoxes boxes(call.windows, call.indexType, call.clamps);
  const auto *from = static_cast<const char *>(updates);
  auto *to = static_cast<char *>(inout);
  int64_t count = countWindows(call.windows) * elementsOfWindow(call.windows);
  if (count == 0)
    return;
  if (areInOrder(call.windows))
    return scatterBoxes(
        boxes, indices,
        {combineRowFor(call.type, call.kind), sizeOf(call.type), from, to});
  Scratch pieces(scratch, scratchBytes(call, /*onDevice=*/false));
  auto targets = pieces.take<ScatterTarget>(count);
  combineTargetsFor(call.type, call.kind)(listTargets(boxes, indices, targets),
                                          to, from);
}

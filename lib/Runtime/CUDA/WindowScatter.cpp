// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scatter.
//
// The result of a scatter is that of going through the updates in row-major
// order, also for sums of floats, so nothing here is atomic. There are three
// ways:
//  - Windows of one element along every dimension that is indexed are the same
//    or apart: they are sorted by where they go, and each run of equal ones is
//    combined in order, a thread some elements of the window. Of windows that
//    overwrite, the last of each run is moved in words. Those that are known to
//    be apart are not sorted: each is a run.
//  - A few windows that come in the order of the updates, such as the one of a
//    dynamic_update_slice, are launched one after another; in words, too,
//    where they overwrite and are clamped.
//  - Else a thread a place of the operand looks at all windows.

#include "Combine.h"
#include "Device.h"
#include "RowNest.h"
#include "SortLines.h"
#include "WindowShapes.h"
#include "shoal/Calls/IndexingScratch.h"

using namespace shoal::rt;

namespace {
/// A scatter and what its launches have in common.
struct Scatter {
  const IndexedBoxes &boxes;
  ScatterParameters p;
  ElementType type;
  /// Of the windows in their tensor.
  bool inOrder;
  bool isUnique;
  cudaStream_t stream;
  Touched indices, updates, inout;

  bool overwrites() const { return p.kind < 0; }
  /// The kernel for windows that are moved, whose sizes then count words.
  const char *useMoves();
  /// The one that combines.
  const char *useTerms();
  void byRuns(Scratch &pieces);
  void oneByOne();
  void byPlaces();
};
} // namespace

const char *Scatter::useMoves() {
  auto width = static_cast<int64_t>(shoal::support::elementSize(type));
  width *= useWords(p.windows, width, updates.pointer, inout.pointer);
  return SHOAL_WIDTH_NAMES("shoal_scatter_move").of(width);
}

const char *Scatter::useTerms() {
  p.vectors = areWords(p.windows, vectorElements) &&
              isVectorAligned(updates.pointer, type) &&
              isVectorAligned(inout.pointer, type);
  return SHOAL_WIDE_NAMES("shoal_scatter_runs").of(type);
}

void Scatter::byRuns(Scratch &pieces) {
  int64_t count = p.windows.batch.count;
  const char *kernel = overwrites() ? useMoves() : useTerms();
  int64_t length = p.windows.rowLength;
  p.rows = Rows(p.windows.rows(), p.vectors ? length / vectorElements : length);
  auto keyBytes = count * static_cast<int64_t>(sizeof(uint64_t));
  auto writeKeys = [&](uint64_t *keys) {
    launch(stream, "shoal_scatter_keys", blocksFor(count, blockThreads),
           ScatterKeysParameters{p.windows, keys},
           {indices, {keys, keyBytes, Access::Write}});
  };
  if (isUnique) {
    uint64_t *keys = pieces.take<uint64_t>(count).data();
    writeKeys(keys);
    p.keys = keys;
    p.places = nullptr;
    launch(stream, kernel, blocksFor(p.rows.threads(), blockThreads), p,
           {updates, inout, {keys, keyBytes, Access::Read}});
    return;
  }
  LineSorter sorter({1, count, 1}, pieces, stream);
  writeKeys(sorter.keys());
  SortedLines sorted = sorter.sortKeys();
  p.keys = sorted.keys;
  p.places = sorted.places;
  launch(stream, kernel, blocksFor(p.rows.threads(), blockThreads), p,
         {updates,
          inout,
          {sorted.keys, keyBytes, Access::Read},
          {sorted.places, count * 4, Access::Read}});
}

void Scatter::oneByOne() {
  bool moves = overwrites() && p.windows.clamps;
  const char *kernel =
      moves ? useMoves() : SHOAL_WIDE_NAMES("shoal_scatter_window").of(type);
  p.rows = Rows(p.windows.outer.count, p.windows.rowLength);
  int64_t threads = moves ? p.rows.threads() : p.windows.elementsOfOne();
  for (p.batchIndex = 0; p.batchIndex < p.windows.batch.count; ++p.batchIndex)
    launch(stream, kernel, blocksFor(threads, blockThreads), p,
           {indices, updates, inout});
}

/// The kernel finds a window by its coordinates in the operand.
static void expectKnownBatches(const IndexedBoxes &boxes) {
  for (const Loop<3> &loop : boxes.batches()) {
    auto walks = [&](const IndexedBoxes::Dim &dim) {
      return dim.component < 0 && batchLoopOf(dim, {loop}) >= 0;
    };
    if (loop.size > 1 && loop.strides[1] != 0 &&
        std::none_of(boxes.dims().begin(), boxes.dims().end(), walks))
      fatal("scatter: a batch dimension of " + std::to_string(loop.size) +
            " with stride " + std::to_string(loop.strides[1]) +
            " in the operand is none of its dimensions");
  }
}

void Scatter::byPlaces() {
  expectKnownBatches(boxes);
  p.operandCount = operandElements(boxes);
  p.inOrder = inOrder;
  launch(stream, SHOAL_WIDE_NAMES("shoal_scatter_places").of(type),
         blocksFor(p.operandCount, blockThreads), p, {indices, updates, inout});
}

extern "C" void shoal_rt_scatter(const int64_t *desc, const void *indices,
                                 const void *updates, void *inout,
                                 void *scratch) {
  const auto &call = lookUp<ScatterCall>(desc);
  IndexedBoxes boxes(call.windows, call.indexType, call.clamps);
  ElementType type = call.type;
  if (isNothing(boxes) || operandElements(boxes) == 0)
    return;
  if (!call.kind)
    type = sameSizeInteger(type);
  ScatterWay way = chooseScatterWay(call.windows);
  auto width = static_cast<int64_t>(shoal::support::elementSize(type));
  Scatter scatter{boxes,
                  {},
                  type,
                  areInOrder(call.windows),
                  call.isUnique,
                  Device::get().compute(),
                  touchedIndices(boxes, indices),
                  {updates, windowsExtent(boxes) * width, Access::Read},
                  {inout, operandElements(boxes) * width, Access::ReadWrite}};
  ScatterParameters &p = scatter.p;
  p.windows = describeWindows(boxes, call.clamps,
                              /*merge=*/way != ScatterWay::ByPlaces, indices);
  p.type = static_cast<int32_t>(type);
  p.kind = call.kind ? static_cast<int32_t>(kindOn(type, *call.kind)) : -1;
  p.updates = updates;
  p.inout = inout;
  Scratch pieces(scratch, scratchBytes(call, /*onDevice=*/true));
  switch (way) {
  case ScatterWay::OneByOne:
    return scatter.oneByOne();
  case ScatterWay::ByPlaces:
    return scatter.byPlaces();
  case ScatterWay::ByRuns:
    return scatter.byRuns(pieces);
  }
}

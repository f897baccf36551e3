// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gather and scatter.
//
// The result of a scatter is that of going through the updates in row-major
// order, also for sums of floats, so nothing here is atomic. There are three
// ways:
//  - Windows of one element along every dimension that is indexed are the same
//    or apart: they are sorted by where they go, and each run of equal ones is
//    combined in order, a thread an element of the window.
//  - A few windows that come in the order of the updates, such as the one of a
//    dynamic_update_slice, are launched one after another.
//  - Else a thread a place of the operand looks at all windows.

#include "../Common/IndexedBoxes.h"
#include "Combine.h"
#include "Device.h"
#include "KernelLibrary.h"
#include "SortLines.h"

using namespace shoal::rt;

static Loops<2> windowLoops(const IndexedBoxes &boxes) {
  Loops<2> loops;
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    loops.push_back({dim.boxSize, {dim.stride, dim.boxStride}});
  return loops;
}

static int64_t operandElements(const IndexedBoxes &boxes) {
  int64_t count = 1;
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    count *= dim.size;
  return count;
}

/// From the first to the last element of the windows' tensor that is used.
static int64_t windowsExtent(const IndexedBoxes &boxes) {
  return extentOf(boxes.batches(), 2) + extentOf(windowLoops(boxes), 1) - 1;
}

static Touched touchedIndices(const IndexedBoxes &boxes, const void *indices) {
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

/// The loop that walks a dimension of the operand, if there is one: operand and
/// windows have it in common.
static int64_t batchLoopOf(const IndexedBoxes::Dim &dim,
                           const Loops<3> &batch) {
  for (size_t l = 0; l < batch.size(); ++l)
    if (dim.size > 1 && dim.boxSize == 1 && batch[l].strides[1] == dim.stride)
      return static_cast<int64_t>(l);
  return -1;
}

/// `merge`: neighbouring loops become one, where no kernel needs to know which
/// dimension they walk. In any case they are put in the order of the windows'
/// tensor.
static Windows describe(const IndexedBoxes &boxes, bool clamps, bool merge,
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

static bool isNothing(const IndexedBoxes &boxes) {
  return isEmpty(boxes.batches()) || isEmpty(windowLoops(boxes));
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// Makes words of up to 16 bytes of elements of `width` bytes, if rows are
/// dense on both sides and everything lies at whole words. Returns the new
/// width.
static int64_t widen(Windows &windows, int64_t width, const void *in,
                     void *out) {
  Nest<2> &window = windows.window;
  int last = window.rank - 1;
  if (last < 0 || window.strides[last][0] != 1 || window.strides[last][1] != 1)
    return width;
  std::vector<int64_t *> numbers = {&window.size[last]};
  for (int l = 0; l < last; ++l)
    numbers.insert(numbers.end(),
                   {&window.strides[l][0], &window.strides[l][1]});
  for (int l = 0; l < windows.batch.rank; ++l)
    numbers.insert(numbers.end(), {&windows.batch.strides[l][1],
                                   &windows.batch.strides[l][2]});
  for (int d = 0; d < windows.rank; ++d)
    if (windows.dims[d].component >= 0)
      numbers.push_back(&windows.dims[d].stride);
  auto address =
      reinterpret_cast<uintptr_t>(in) | reinterpret_cast<uintptr_t>(out);
  int64_t count = 16 / width;
  auto divides = [&](const int64_t *number) { return *number % count == 0; };
  while (count > 1 && (address % static_cast<uintptr_t>(count * width) != 0 ||
                       !std::all_of(numbers.begin(), numbers.end(), divides)))
    count /= 2;
  for (int64_t *number : numbers)
    *number /= count;
  window.count /= count;
  return width * count;
}

extern "C" void shoal_rt_gather(const int64_t *desc, const void *in,
                                const void *indices, void *out) {
  Descriptor reader(desc);
  ElementType type = reader.type();
  IndexedBoxes boxes(reader);
  if (isNothing(boxes))
    return;
  auto width = static_cast<int64_t>(shoal::support::elementSize(type));
  Touched read{in, operandElements(boxes) * width, Access::Read};
  Touched write{out, windowsExtent(boxes) * width, Access::Write};
  GatherParameters p{describe(boxes, /*clamps=*/true, /*merge=*/true, indices),
                     in, out};
  width = widen(p.windows, width, in, out);
  int64_t words = p.windows.batch.count * p.windows.window.count;
  launch(Device::get().compute(), SHOAL_WIDTH_NAMES("shoal_gather").of(width),
         blocksFor(words, blockThreads), p,
         {read, touchedIndices(boxes, indices), write});
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// Whether two windows are the same or have no element in common.
static bool areSameOrApart(const IndexedBoxes &boxes) {
  for (const IndexedBoxes::Dim &dim : boxes.dims())
    if (dim.component >= 0 && dim.boxSize > 1)
      return false;
  for (const Loop<3> &loop : boxes.batches()) {
    bool known = loop.size == 1 || loop.strides[1] == 0;
    for (const IndexedBoxes::Dim &dim : boxes.dims())
      known = known || batchLoopOf(dim, {loop}) >= 0;
    if (!known)
      return false;
  }
  return true;
}

namespace {
/// A scatter and what its launches have in common.
struct Scatter {
  const IndexedBoxes &boxes;
  ScatterParameters p;
  ElementType type;
  cudaStream_t stream;
  Touched indices, updates, inout;

  void byRuns();
  void oneByOne();
  void byPlaces();
};
} // namespace

void Scatter::byRuns() {
  int64_t count = p.windows.batch.count;
  LineSorter sorter({1, count, 1}, stream);
  auto keyBytes = count * static_cast<int64_t>(sizeof(uint64_t));
  launch(stream, "shoal_scatter_keys", blocksFor(count, blockThreads),
         ScatterKeysParameters{p.windows, sorter.keys()},
         {indices, {sorter.keys(), keyBytes, Access::Write}});
  SortedLines sorted = sorter.sortKeys();
  p.keys = sorted.keys;
  p.places = sorted.places;
  launch(stream, SHOAL_WIDE_NAMES("shoal_scatter_runs").of(type),
         blocksFor(count * p.windows.window.count, blockThreads), p,
         {updates,
          inout,
          {sorted.keys, keyBytes, Access::Read},
          {sorted.places, count * 4, Access::Read}});
}

void Scatter::oneByOne() {
  for (p.batchIndex = 0; p.batchIndex < p.windows.batch.count; ++p.batchIndex)
    launch(stream, SHOAL_WIDE_NAMES("shoal_scatter_window").of(type),
           blocksFor(p.windows.window.count, blockThreads), p,
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
  p.inOrder = boxes.boxesAreInOrder();
  launch(stream, SHOAL_WIDE_NAMES("shoal_scatter_places").of(type),
         blocksFor(p.operandCount, blockThreads), p, {indices, updates, inout});
}

/// What is only moved has the same bits as an integer.
static ElementType integerLike(ElementType type) {
  switch (shoal::support::elementSize(type)) {
  case 8:
    return ElementType::I64;
  case 4:
    return ElementType::I32;
  case 2:
    return ElementType::I16;
  default:
    return ElementType::I8;
  }
}

extern "C" void shoal_rt_scatter(const int64_t *desc, const void *indices,
                                 const void *updates, void *inout) {
  Descriptor reader(desc);
  ElementType type = reader.type();
  int64_t kind = reader.number();
  bool clamps = reader.number() != 0;
  IndexedBoxes boxes(reader);
  if (isNothing(boxes) || operandElements(boxes) == 0)
    return;
  if (kind < 0)
    type = integerLike(type);
  bool apart = areSameOrApart(boxes), inOrder = boxes.boxesAreInOrder();
  constexpr int64_t fewWindows = 64;
  int64_t numWindows = 1;
  for (const Loop<3> &loop : boxes.batches())
    numWindows *= loop.size;
  bool oneByOne =
      numWindows == 1 || (!apart && inOrder && numWindows <= fewWindows);
  bool byPlaces = !oneByOne && !apart;

  auto width = static_cast<int64_t>(shoal::support::elementSize(type));
  Scatter scatter{boxes,
                  {},
                  type,
                  Device::get().compute(),
                  touchedIndices(boxes, indices),
                  {updates, windowsExtent(boxes) * width, Access::Read},
                  {inout, operandElements(boxes) * width, Access::ReadWrite}};
  ScatterParameters &p = scatter.p;
  p.windows = describe(boxes, clamps, /*merge=*/!byPlaces, indices);
  p.type = static_cast<int32_t>(type);
  p.kind = kind < 0
               ? -1
               : static_cast<int32_t>(kindOn(type, static_cast<Kind>(kind)));
  p.updates = updates;
  p.inout = inout;
  if (oneByOne)
    scatter.oneByOne();
  else if (byPlaces)
    scatter.byPlaces();
  else
    scatter.byRuns();
}

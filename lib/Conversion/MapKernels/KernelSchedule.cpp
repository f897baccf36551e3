// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelSchedule.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

/// Threads of a block where nothing else decides.
static constexpr int64_t kBlock = 256;
static constexpr int64_t kWarp = 32;
static constexpr int64_t kMaxBlock = 1024;
/// About as many threads as a large GPU holds at a time.
static constexpr int64_t kFullDevice = int64_t(1) << 18;
/// A thread's code is not unrolled beyond this many operations.
static constexpr int64_t kMaxUnrolled = 1024;
static constexpr int64_t kVectorBytes = 16;

std::optional<unsigned> KernelSchedule::getDenseLoop() const {
  ArrayRef<unsigned> loops =
      shape == KernelShape::RowReduction ? reduced : parallel;
  return loops.empty() ? std::nullopt : std::optional<unsigned>(loops.back());
}

static StringRef getName(KernelShape shape) {
  switch (shape) {
  case KernelShape::Map:
    return "map";
  case KernelShape::Transpose:
    return "transpose";
  case KernelShape::RowReduction:
    return "row_reduction";
  case KernelShape::ColumnReduction:
    return "column_reduction";
  case KernelShape::SerialReduction:
    return "serial_reduction";
  }
  llvm_unreachable("no such shape");
}

std::string KernelSchedule::str() const {
  std::string text = getName(shape).str();
  if (vector != 1)
    text += llvm::formatv(" vector={0}", vector);
  if (lanes != 1)
    text += llvm::formatv(" lanes={0}", lanes);
  text += llvm::formatv(" block={0}x{1} blocks={2}", blockX, blockY, blocks);
  if (grid != blocks)
    text += llvm::formatv(" grid={0}", grid);
  if (!usesInt32)
    text += " int64";
  return text;
}

//===----------------------------------------------------------------------===//
// Dense loops and vectors
//===----------------------------------------------------------------------===//

bool shoal::isVectorAccess(const LoopNest &nest, const Access &access,
                           unsigned loop, int64_t vector) {
  if (access.strides[loop] != 1 || access.offset % vector != 0)
    return false;
  for (auto [other, stride] : llvm::enumerate(access.strides))
    if (other != loop && stride % vector != 0)
      return false;
  return nest.loops[loop].range % vector == 0;
}

/// Elements that the access touches, each once.
static int64_t countElements(const LoopNest &nest, const Access &access) {
  int64_t count = 1;
  for (auto [loop, stride] : llvm::zip_equal(nest.loops, access.strides))
    if (stride != 0)
      count *= loop.range;
  return count;
}

/// The loop along which most bytes are dense; the last of equals.
static std::optional<unsigned> findDenseLoop(const LoopNest &nest) {
  std::optional<unsigned> dense;
  int64_t most = 0;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    int64_t bytes = 0;
    for (const Access &access : nest.accesses)
      if (access.isTouched() && access.strides[loop] == 1)
        bytes += countElements(nest, access) * access.elementBytes;
    if (!dense || bytes >= most) {
      dense = loop;
      most = bytes;
    }
  }
  return dense;
}

/// How many neighbours along `loop` a thread should take: 16 bytes of the
/// widest operand, if every operand then has aligned accesses or need not move.
static int64_t chooseVector(const LoopNest &nest, unsigned loop) {
  int64_t widest = 0;
  for (const Access &access : nest.accesses)
    if (access.isTouched() && access.strides[loop] == 1)
      widest = std::max(widest, access.elementBytes);
  if (widest == 0)
    return 1;
  auto suits = [&](int64_t vector) {
    return llvm::all_of(nest.accesses, [&](const Access &access) {
      if (!access.isTouched() || access.strides[loop] == 0)
        return true;
      if (access.strides[loop] != 1)
        return !access.isWritten;
      return isVectorAccess(nest, access, loop, vector);
    });
  };
  int64_t vector = kVectorBytes / widest;
  while (vector > 1 &&
         (vector * nest.bodySize > kMaxUnrolled || !suits(vector)))
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

/// The written operand with most elements, whose order the threads take.
static const Access *findMainResult(const LoopNest &nest) {
  const Access *main = nullptr;
  for (const Access &access : nest.accesses)
    if (access.isWritten &&
        (!main || countElements(nest, access) > countElements(nest, *main)))
      main = &access;
  return main;
}

/// Sorts loops so that the access runs through memory in order.
static void sortByStride(SmallVectorImpl<unsigned> &loops,
                         const Access *access) {
  if (access)
    llvm::stable_sort(loops, [&](unsigned a, unsigned b) {
      return std::abs(access->strides[a]) > std::abs(access->strides[b]);
    });
}

static void moveLast(SmallVectorImpl<unsigned> &loops, unsigned loop) {
  loops.erase(llvm::find(loops, loop));
  loops.push_back(loop);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// A thread for each of `items`.
static void spread(KernelSchedule &schedule, int64_t items) {
  schedule.blockX =
      items == 1 ? 1 : std::min<int64_t>(kBlock, llvm::alignTo(items, kWarp));
  schedule.blocks = llvm::divideCeil(items, schedule.blockX);
}

static void scheduleMap(const LoopNest &nest, KernelSchedule &schedule) {
  schedule.shape = KernelShape::Map;
  sortByStride(schedule.parallel, findMainResult(nest));
  if (!schedule.parallel.empty())
    schedule.vector = chooseVector(nest, schedule.parallel.back());
  spread(schedule, nest.countIterations(false) / schedule.vector);
}

static void scheduleSerial(const LoopNest &nest, KernelSchedule &schedule) {
  schedule.shape = KernelShape::SerialReduction;
  sortByStride(schedule.parallel, findMainResult(nest));
  spread(schedule, nest.countIterations(false));
}

static KernelSchedule scheduleFor(const LoopNest &nest) {
  KernelSchedule schedule;
  for (auto [number, loop] : llvm::enumerate(nest.loops))
    (loop.isReduced ? schedule.reduced : schedule.parallel).push_back(number);
  if (schedule.reduced.empty()) {
    scheduleMap(nest, schedule);
    return schedule;
  }
  scheduleSerial(nest, schedule);
  return schedule;
}

KernelSchedule shoal::chooseSchedule(const LoopNest &nest,
                                     const DeviceLimits &limits) {
  KernelSchedule schedule = scheduleFor(nest);
  schedule.grid = std::min(schedule.blocks, limits.blocks);
  // Threads are numbered, and the number of a grid's next trip is computed.
  int64_t threads =
      (schedule.blocks + schedule.grid) * schedule.blockX * schedule.blockY;
  schedule.usesInt32 = threads <= std::numeric_limits<int32_t>::max() &&
                       nest.fitsInt32(/*spare=*/2 * kMaxBlock * kVectorBytes);
  return schedule;
}

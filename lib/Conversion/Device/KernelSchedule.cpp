// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelSchedule.h"
#include "DenseLoops.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

/// Threads of a block where nothing else decides.
static constexpr int64_t kBlock = 256;
/// Rows of so few elements are a thread's.
static constexpr int64_t kShortRow = 4;

std::optional<unsigned> KernelSchedule::getDenseLoop() const {
  bool hasRows =
      shape == KernelShape::RowReduction || shape == KernelShape::FusedRows;
  ArrayRef<unsigned> loops = hasRows ? reduced : parallel;
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
  case KernelShape::FusedRows:
    return "fused_rows";
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

/// Sorts loops so that the access runs through memory in order; others stay in
/// the order that they have.
static void sortByStride(SmallVectorImpl<unsigned> &loops,
                         const Access *access) {
  if (!access)
    return;
  SmallVector<std::tuple<int64_t, size_t, unsigned>> keyed;
  for (auto [place, loop] : llvm::enumerate(loops))
    keyed.emplace_back(-std::abs(access->strides[loop]), place, loop);
  llvm::sort(keyed);
  for (auto [place, key] : llvm::enumerate(keyed))
    loops[place] = std::get<unsigned>(key);
}

static void moveLast(SmallVectorImpl<unsigned> &loops, unsigned loop) {
  loops.erase(llvm::find(loops, loop));
  loops.push_back(loop);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// A thread for each of `items`.
static void spread(KernelSchedule &schedule, int64_t items,
                   const DeviceLimits &limits) {
  schedule.blockX =
      items == 1
          ? 1
          : std::min<int64_t>(kBlock, llvm::alignTo(items, limits.warpThreads));
  schedule.blocks = llvm::divideCeil(items, schedule.blockX);
}

static void scheduleMap(const LoopNest &nest, KernelSchedule &schedule,
                        const DeviceLimits &limits) {
  schedule.shape = KernelShape::Map;
  sortByStride(schedule.parallel, findMainResult(nest));
  if (!schedule.parallel.empty())
    schedule.vector = chooseVector(nest, schedule.parallel.back(), limits);
  spread(schedule, nest.countIterations(false) / schedule.vector, limits);
}

/// The loop along which `access` is dense, while neighbouring threads, which
/// run along `dense`, would touch elements far apart.
static std::optional<unsigned>
findCrossedLoop(const LoopNest &nest, const Access &access, unsigned dense) {
  auto isLong = [&](unsigned loop) {
    return nest.loops[loop].range >= KernelSchedule::kTile / 2;
  };
  if (!access.isRead || access.isWritten || access.whole ||
      std::abs(access.strides[dense]) < 2 || !isLong(dense))
    return std::nullopt;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (access.strides[loop] == 1 && isLong(loop))
      return loop;
  return std::nullopt;
}

/// Makes a Transpose of a Map if that has an operand for a tile.
static void scheduleTiles(const LoopNest &nest, KernelSchedule &schedule,
                          const DeviceLimits &limits) {
  if (schedule.parallel.size() < 2)
    return;
  unsigned dense = schedule.parallel.back();
  int64_t most = 0, bytes = 0;
  for (const Access &access : nest.accesses)
    if (auto loop = findCrossedLoop(nest, access, dense);
        loop && countElements(nest, access) > most) {
      most = countElements(nest, access);
      schedule.tileLoop = *loop;
    }
  if (most == 0)
    return;
  constexpr int64_t kElements =
      KernelSchedule::kTile * (KernelSchedule::kTile + 1);
  for (auto [operand, access] : llvm::enumerate(nest.accesses)) {
    if (findCrossedLoop(nest, access, dense) != schedule.tileLoop ||
        bytes + kElements * access.elementBytes > limits.sharedBytes)
      continue;
    bytes += kElements * access.elementBytes;
    schedule.tileOperands.push_back(operand);
  }
  schedule.shape = KernelShape::Transpose;
  schedule.vector = 1;
  schedule.blockX = KernelSchedule::kTile;
  schedule.blockY = KernelSchedule::kTileRows;
  schedule.blocks = 1;
  for (unsigned loop : schedule.parallel) {
    bool isTiled = loop == dense || loop == schedule.tileLoop;
    schedule.blocks *= llvm::divideCeil(nest.loops[loop].range,
                                        isTiled ? KernelSchedule::kTile : 1);
  }
}

static void scheduleSerial(const LoopNest &nest, KernelSchedule &schedule,
                           const DeviceLimits &limits) {
  schedule.shape = KernelShape::SerialReduction;
  sortByStride(schedule.parallel, findMainResult(nest));
  spread(schedule, nest.countIterations(false), limits);
}

int64_t shoal::chooseLanes(int64_t units, int64_t rows,
                           const DeviceLimits &limits) {
  // A block per row where a warp would take long, or where warps are few.
  if (units >= 1024 ||
      (units >= 256 && rows < limits.fullThreads / limits.warpThreads)) {
    int64_t lanes = llvm::bit_floor<uint64_t>(units / 4);
    return std::min(lanes, rows == 1 ? limits.blockThreads : kBlock);
  }
  return std::min<int64_t>(limits.warpThreads, llvm::bit_ceil<uint64_t>(units));
}

void shoal::spreadRows(KernelSchedule &schedule, int64_t rows,
                       const DeviceLimits &limits) {
  int64_t wanted = schedule.lanes * llvm::bit_ceil<uint64_t>(rows);
  schedule.blockX =
      schedule.lanes > limits.warpThreads
          ? schedule.lanes
          : std::clamp<int64_t>(wanted, limits.warpThreads, kBlock);
  schedule.blocks = llvm::divideCeil(rows, schedule.blockX / schedule.lanes);
  schedule.grid = std::min(schedule.blocks, limits.gridBlocks);
}

static void scheduleRows(const LoopNest &nest, unsigned dense,
                         KernelSchedule &schedule, const DeviceLimits &limits) {
  schedule.shape = KernelShape::RowReduction;
  moveLast(schedule.reduced, dense);
  schedule.vector = chooseVector(nest, dense, limits);
  int64_t rows = nest.countIterations(false);
  schedule.lanes =
      chooseLanes(nest.countIterations(true) / schedule.vector, rows, limits);
  spreadRows(schedule, rows, limits);
}

static void scheduleColumns(const LoopNest &nest, unsigned dense,
                            KernelSchedule &schedule,
                            const DeviceLimits &limits) {
  schedule.shape = KernelShape::ColumnReduction;
  sortByStride(schedule.parallel, findMainResult(nest));
  moveLast(schedule.parallel, dense);
  int64_t elements = nest.countIterations(false);
  int64_t length = nest.countIterations(true);
  schedule.vector = chooseVector(nest, dense, limits);
  // Many threads are worth more than wide accesses.
  int64_t useful = std::min<int64_t>(length, limits.warpThreads);
  while (schedule.vector > 1 &&
         elements / schedule.vector * useful < limits.fullThreads)
    schedule.vector /= 2;
  int64_t columns = elements / schedule.vector;
  schedule.blockX =
      std::min<int64_t>(limits.warpThreads, llvm::bit_ceil<uint64_t>(columns));
  // Each thread of a column combines some elements before it meets others.
  int64_t sharers = llvm::bit_floor<uint64_t>(std::max<int64_t>(length / 4, 1));
  int64_t wanted =
      llvm::bit_ceil<uint64_t>(llvm::divideCeil(limits.fullThreads, columns));
  schedule.blockY = std::min({sharers, wanted, 2 * kBlock / schedule.blockX});
  if (schedule.blockY == 1)
    schedule.blockX =
        std::min<int64_t>(kBlock, llvm::bit_ceil<uint64_t>(columns));
  schedule.blocks = llvm::divideCeil(columns, schedule.blockX);
}

static bool hasMixedResult(const LoopNest &nest) {
  return llvm::any_of(nest.accesses, [&](const Access &access) {
    return access.isWritten && nest.getResultKind(access) == ResultKind::Mixed;
  });
}

static KernelSchedule scheduleFor(const LoopNest &nest,
                                  const DeviceLimits &limits) {
  KernelSchedule schedule;
  for (auto [number, loop] : llvm::enumerate(nest.loops))
    (loop.isReduced ? schedule.reduced : schedule.parallel).push_back(number);
  if (schedule.reduced.empty()) {
    scheduleMap(nest, schedule, limits);
    scheduleTiles(nest, schedule, limits);
    return schedule;
  }
  unsigned dense = *findDenseLoop(nest);
  bool isShort =
      nest.loops[dense].isReduced && nest.countIterations(true) <= kShortRow;
  if (!nest.combinesInAnyOrder || hasMixedResult(nest) || isShort)
    scheduleSerial(nest, schedule, limits);
  else if (nest.loops[dense].isReduced)
    scheduleRows(nest, dense, schedule, limits);
  else
    scheduleColumns(nest, dense, schedule, limits);
  return schedule;
}

bool shoal::leavesDeviceIdle(int64_t blocks, int64_t iterations,
                             const DeviceLimits &limits) {
  constexpr int64_t kManyIterations = int64_t(1) << 17;
  return blocks < limits.someBlocks && iterations >= kManyIterations;
}

bool shoal::usesInt32(const LoopNest &nest, const KernelSchedule &schedule,
                      const DeviceLimits &limits) {
  // Threads are numbered, and the number of a grid's next trip is computed.
  int64_t threads =
      (schedule.blocks + schedule.grid) * schedule.blockX * schedule.blockY;
  return threads <= std::numeric_limits<int32_t>::max() &&
         nest.fitsInt32(/*spare=*/2 * limits.blockThreads * limits.vectorBytes);
}

KernelSchedule shoal::chooseSchedule(const LoopNest &nest,
                                     const DeviceLimits &limits) {
  KernelSchedule schedule = scheduleFor(nest, limits);
  schedule.grid = std::min(schedule.blocks, limits.gridBlocks);
  schedule.usesInt32 = shoal::usesInt32(nest, schedule, limits);
  return schedule;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which threads do what: decided from a loop nest alone.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_KERNELSCHEDULE_H
#define SHOAL_LIB_CONVERSION_DEVICE_KERNELSCHEDULE_H

#include "LoopNest.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

enum class KernelShape {
  /// All loops are parallel. A thread computes `vector` neighbouring elements.
  Map,
  /// As Map, but some operands are dense along another loop than the results:
  /// they go through square tiles in shared memory.
  Transpose,
  /// The dense loop is reduced. `lanes` neighbouring threads take a row.
  RowReduction,
  /// The dense loop is kept. Neighbouring threads take neighbouring columns;
  /// `blockY` threads share a column.
  ColumnReduction,
  /// A thread per element of the result runs the reduced loops in their order.
  SerialReduction,
  /// Several ops on the same rows, see RowGroup.h. `lanes` neighbouring threads
  /// take a row and keep its elements from op to op.
  FusedRows
};

struct KernelSchedule {
  /// The edge of a Transpose's tile, and the rows of threads that move it.
  static constexpr int64_t kTile = 32;
  static constexpr int64_t kTileRows = 8;

  KernelShape shape;
  /// The parallel loops; threads run through the last one fastest.
  llvm::SmallVector<unsigned> parallel;
  /// The reduced loops; the last one is run through fastest.
  llvm::SmallVector<unsigned> reduced;
  /// Neighbouring elements of the dense loop that a thread takes at once. That
  /// loop is the last of `reduced` for a RowReduction and FusedRows, else of
  /// `parallel`.
  int64_t vector = 1;
  /// RowReduction, FusedRows: threads of a row: a part of a warp, or the whole
  /// block.
  int64_t lanes = 1;
  /// Transpose: the loop along which the operands of the tiles are dense, and
  /// those operands.
  unsigned tileLoop = 0;
  llvm::SmallVector<unsigned> tileOperands;

  int64_t blockX = 1;
  int64_t blockY = 1;
  /// Blocks of work; blocks of the grid take several where there are fewer.
  int64_t blocks = 1;
  int64_t grid = 1;
  /// Whether indices and addresses are 32 bits wide.
  bool usesInt32 = true;

  /// The loop whose neighbouring elements a thread takes; none of rank 0.
  std::optional<unsigned> getDenseLoop() const;
  /// "row_reduction vector=4 lanes=32 block=32x8 blocks=128".
  std::string str() const;
};

/// Threads of a row of `units` vectors, of `rows` rows: a power of two.
int64_t chooseLanes(int64_t units, int64_t rows, const DeviceLimits &limits);

/// Gives the schedule, whose `lanes` are set, its blocks and grid. Shuffles
/// need whole warps; a row of several warps has a block of its own.
void spreadRows(KernelSchedule &schedule, int64_t rows,
                const DeviceLimits &limits);

/// Whether so few blocks leave most of a large GPU idle for so long that a
/// second launch, which shares the work out, is worth its start.
bool leavesDeviceIdle(int64_t blocks, int64_t iterations,
                      const DeviceLimits &limits);

/// Whether the threads of the schedule and what the nest touches have 32-bit
/// numbers.
bool usesInt32(const LoopNest &nest, const KernelSchedule &schedule,
               const DeviceLimits &limits);

/// The schedule of a nest that is not empty.
KernelSchedule chooseSchedule(const LoopNest &nest, const DeviceLimits &limits);

/// Whether `vector` neighbouring elements along `loop` are one aligned access.
/// Pointers are aligned to 64 bytes.
bool isVectorAccess(const LoopNest &nest, const Access &access, unsigned loop,
                    int64_t vector);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_KERNELSCHEDULE_H

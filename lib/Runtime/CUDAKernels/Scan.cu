// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running sums and their kind, see Parameters.h.

#include "Elements.h"

using namespace shoal::rt;

template <typename Wide>
static SHOAL_DEVICE Wide identityOf(const ScanParameters &p) {
  if constexpr (std::is_same_v<Wide, float>)
    return p.floatIdentity;
  else if constexpr (std::is_same_v<Wide, double>)
    return p.doubleIdentity;
  else
    return p.integerIdentity;
}

template <typename Index>
static SHOAL_DEVICE int64_t lineStart(const ScanParameters &p, Index line) {
  auto [outer, column] = divide(line, p.inner);
  return outer * p.count * p.inner + column;
}

/// Where step `i` of a line reads and writes.
static SHOAL_DEVICE int64_t stepAt(const ScanParameters &p, int64_t i) {
  return (p.reverse ? p.count - 1 - i : i) * p.inner;
}

/// Neighbouring threads take neighbouring lines.
template <typename Wide>
static SHOAL_DEVICE void scanLines(const ScanParameters &p) {
  forEachItem(p.lines, [&](auto line) {
    int64_t start = lineStart(p, line);
    Wide running = identityOf<Wide>(p);
    for (int64_t i = 0; i < p.count; ++i) {
      int64_t at = start + stepAt(p, i);
      Wide before = running;
      running =
          combineWide(p.kind, before, loadElement<Wide>(p.in, p.type, at));
      storeElement(p.out, p.type, at, p.exclusive ? before : running);
    }
  });
}

/// What the lanes up to this one of the warp hold, combined.
template <typename Wide>
static SHOAL_DEVICE Wide scanWarp(int32_t kind, Wide value) {
  for (int distance = 1; distance < warpLanes; distance *= 2) {
    Wide below = shuffleUp(value, distance);
    if (laneInWarp() >= distance)
      value = combineWide(kind, below, value);
  }
  return value;
}

/// What the threads before this one of the block hold, combined, and all of
/// them: sums of warps through shared memory.
template <typename Wide>
static SHOAL_DEVICE void scanBlock(int32_t kind, Wide identity, Wide value,
                                   Wide *warpSums, Wide &before, Wide &all) {
  Wide inclusive = scanWarp(kind, value);
  Wide below = shuffleUp(inclusive, 1);
  if (laneInWarp() == warpLanes - 1)
    warpSums[warpInBlock()] = inclusive;
  barrier();
  before = all = identity;
  for (int warp = 0; warp < blockWarps; ++warp) {
    if (warp == warpInBlock())
      before = all;
    all = combineWide(kind, all, warpSums[warp]);
  }
  if (laneInWarp() > 0)
    before = combineWide(kind, before, below);
  barrier(); // before the sums are written again
}

/// A block goes through a line in chunks; a thread takes neighbouring elements.
template <typename Wide>
static SHOAL_DEVICE void scanRows(const ScanParameters &p) {
  constexpr int perThread = 4, chunk = blockThreads * perThread;
  SHOAL_SHARED(Wide, warpSums, blockWarps);
  Wide identity = identityOf<Wide>(p);
  for (int64_t line = blockInGrid(); line < p.lines; line += blocksInGrid()) {
    int64_t start = lineStart(p, line);
    Wide carry = identity;
    for (int64_t base = 0; base < p.count; base += chunk) {
      int64_t first = base + threadInBlock() * perThread;
      Wide values[perThread], sum = identity;
      for (int i = 0; i < perThread; ++i) {
        values[i] =
            first + i < p.count
                ? loadElement<Wide>(p.in, p.type, start + stepAt(p, first + i))
                : identity;
        sum = combineWide(p.kind, sum, values[i]);
      }
      Wide before, all;
      scanBlock(p.kind, identity, sum, warpSums, before, all);
      Wide running = combineWide(p.kind, carry, before);
      carry = combineWide(p.kind, carry, all);
      for (int i = 0; i < perThread; ++i) {
        Wide after = combineWide(p.kind, running, values[i]);
        if (first + i < p.count)
          storeElement(p.out, p.type, start + stepAt(p, first + i),
                       p.exclusive ? running : after);
        running = after;
      }
    }
  }
}

SHOAL_KERNEL(shoal_scan_lines_float, ScanParameters) { scanLines<float>(p); }
SHOAL_KERNEL(shoal_scan_lines_double, ScanParameters) { scanLines<double>(p); }
SHOAL_KERNEL(shoal_scan_lines_integer, ScanParameters) {
  scanLines<int64_t>(p);
}
SHOAL_KERNEL(shoal_scan_rows_float, ScanParameters) { scanRows<float>(p); }
SHOAL_KERNEL(shoal_scan_rows_double, ScanParameters) { scanRows<double>(p); }
SHOAL_KERNEL(shoal_scan_rows_integer, ScanParameters) { scanRows<int64_t>(p); }

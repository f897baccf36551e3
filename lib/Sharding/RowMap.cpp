// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/RowMap.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cassert>
#include <numeric>

using namespace shoal;

int64_t RowWindow::begin(int64_t device) const {
  return llvm::divideFloorSigned(step * device + offset, divisor);
}

RowRange RowWindow::rangeIn(int64_t size, int64_t device) const {
  int64_t first = begin(device);
  return {std::clamp<int64_t>(first, 0, size),
          std::clamp<int64_t>(first + rows, 0, size)};
}

RowWindow shoal::windowOf(const RowMap &map, int64_t block) {
  assert(map.divisor >= 1 && map.low < map.high + map.divisor &&
         "a map reads some row");
  int64_t last = std::max<int64_t>(block - 1, 0);
  // A block that lies between two rows reads none of them: it gets the one
  // before.
  int64_t reach = std::abs(map.scale) * last;
  int64_t low = std::min(map.low, map.high + reach);
  RowWindow window;
  window.step = map.scale * block;
  window.offset = low + (map.scale < 0 ? map.scale * last : 0);
  window.divisor = map.divisor;
  // The window is longest where the division has cut off most; what it cuts
  // off goes through the multiples of a common divisor.
  int64_t span = reach + map.high - low;
  int64_t common = std::gcd(window.step, window.divisor);
  int64_t cut = window.divisor - common + llvm::mod(window.offset, common);
  window.rows = block == 0 ? 0 : (cut + span) / window.divisor + 1;
  return window;
}

static int64_t overlap(RowRange a, RowRange b) {
  return std::max<int64_t>(std::min(a.end, b.end) - std::max(a.begin, b.begin),
                           0);
}

static int64_t lackingRowsOf(const RowWindow &window, int64_t size,
                             int64_t shards, int64_t device) {
  int64_t begin = window.begin(device);
  RowRange wanted{begin, begin + window.rows};
  return overlap(wanted, {0, size}) -
         overlap(wanted, shardRows(size, shards, device));
}

int64_t shoal::lackingRows(const RowWindow &window, int64_t size,
                           int64_t shards) {
  // The bounds of window, block and dimension are linear in the device, so what
  // lacks is piecewise linear: it is greatest next to an end or to a place
  // where two bounds cross.
  assert(shards >= 1 && "a dimension has a shard");
  int64_t block = shardSize(size, shards);
  struct Line {
    double slope, at0;
  };
  double slope = double(window.step) / window.divisor;
  double at0 = double(window.offset) / window.divisor;
  const Line bounds[] = {{slope, at0},
                         {slope, at0 + window.rows},
                         {double(block), 0},
                         {double(block), double(block)},
                         {0, 0},
                         {0, double(size)}};
  int64_t most = 0;
  auto visit = [&](double place) {
    // Rounding moves a crossing by less than a row, hence by at most `divisor`
    // devices, and its pattern repeats after as many.
    int64_t margin = window.divisor + 2;
    int64_t near = std::clamp<double>(place, -margin, shards + margin);
    for (int64_t device = near - margin; device <= near + margin; ++device)
      if (device >= 0 && device < shards)
        most = std::max(most, lackingRowsOf(window, size, shards, device));
  };
  visit(0);
  visit(shards - 1);
  for (const Line &a : bounds)
    for (const Line &b : bounds)
      if (a.slope != b.slope)
        visit((b.at0 - a.at0) / (a.slope - b.slope));
  return most;
}

bool shoal::seesOutside(const RowWindow &window, int64_t size, int64_t shards) {
  for (int64_t device : {int64_t(0), shards - 1}) {
    int64_t begin = window.begin(device);
    if (begin < 0 || begin + window.rows > size)
      return true;
  }
  return false;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The maps of windows against walks over all windows and places.

#include "shoal/Sharding/Window.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"
#include <limits>

using namespace shoal;

namespace {

std::vector<WindowDim> allWindows() {
  std::vector<WindowDim> windows;
  for (int64_t size : {1, 2, 5})
    for (int64_t stride : {1, 2, 3})
      for (int64_t low : {-2, 0, 3})
        for (int64_t base : {1, 2, 3})
          for (int64_t gap : {1, 2})
            for (bool reversed : {false, true})
              windows.push_back({size, stride, low, 2, base, gap, reversed});
  return windows;
}

bool isWithin(const RowMap &map, int64_t from, int64_t row) {
  return row >=
             llvm::divideFloorSigned(map.scale * from + map.low, map.divisor) &&
         row <=
             llvm::divideFloorSigned(map.scale * from + map.high, map.divisor);
}

TEST(Window, CountsWindows) {
  // 2 rows with a hole between, under 3 places.
  EXPECT_EQ((WindowDim{3, 1, 0, 0, 2, 1, false}.countWindows(2)), 1);
  EXPECT_EQ((WindowDim{3, 2, 1, 1, 1, 1, false}.countWindows(15)), 8);
  EXPECT_EQ((WindowDim{3, 1, 0, 0, 1, 2, false}.countWindows(4)), 0);
  EXPECT_EQ((WindowDim{1, 1, 0, 0, 3, 1, false}.countWindows(0)), 0);
  EXPECT_EQ((WindowDim{1, 1, 1, 1, 3, 1, false}.countWindows(0)), 2);
  WindowDim far{1, 1, 0, 0, int64_t(1) << 31, 1, false};
  EXPECT_EQ(far.countWindows(1 << 25),
            (int64_t(1) << 56) - (far.baseDilation - 1));
  EXPECT_EQ(far.countWindows((1 << 25) + 2), std::nullopt);
  EXPECT_EQ(far.countWindows(std::numeric_limits<int64_t>::max() >> 8),
            std::nullopt);
}

TEST(Window, MapsHoldAllRowsThatAreRead) {
  const int64_t rows = 7;
  for (const WindowDim &dim : allWindows()) {
    int64_t windows = *dim.countWindows(rows);
    for (int64_t w = 0; w < windows; ++w)
      for (int64_t k = 0; k < dim.size; ++k) {
        std::optional<int64_t> row = dim.rowAt(w, k);
        if (!row)
          continue;
        EXPECT_TRUE(isWithin(dim.rowsOfWindow(), w, *row));
        int64_t kernelRow = dim.reversed ? dim.size - 1 - k : k;
        EXPECT_TRUE(isWithin(dim.rowsOfKernelRow(windows), kernelRow, *row));
      }
  }
}

TEST(Window, MapOfAWindowEndsAtItsPlaces) {
  for (const WindowDim &dim : allWindows()) {
    RowMap map = dim.rowsOfWindow();
    if (std::optional<int64_t> first = dim.rowAt(4, 0))
      EXPECT_EQ(*first * dim.baseDilation, map.scale * 4 + map.low);
    if (std::optional<int64_t> last = dim.rowAt(4, dim.size - 1))
      EXPECT_EQ(*last * dim.baseDilation, map.scale * 4 + map.high);
  }
}

TEST(Window, WindowsOfARowAndTheirRows) {
  const int64_t rows = 9;
  for (WindowDim dim : allWindows()) {
    if (dim.baseDilation != 1 || dim.windowDilation != 1 || dim.low < 0)
      continue;
    int64_t windows = *dim.countWindows(rows);
    for (int64_t w = 0; w < windows; ++w)
      for (int64_t k = 0; k < dim.size; ++k) {
        int64_t row = *dim.rowAt(w, k);
        EXPECT_TRUE(isWithin(dim.windowsOfRow(), row, w));
        for (int64_t other = 0; other < dim.size; ++other)
          EXPECT_TRUE(
              isWithin(dim.neighboursOfRow(), row, *dim.rowAt(w, other)));
      }
  }
}

} // namespace

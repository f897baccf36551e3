// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Window.h"
#include "llvm/Support/MathExtras.h"

using namespace shoal;

bool WindowDim::isPointwise() const {
  return size == 1 && stride == 1 && low == 0 && high == 0 && baseDilation == 1;
}

/// Sums of a few such numbers and products with a number of devices do not
/// overflow.
static constexpr int64_t kMostPlaces = int64_t(1) << 56;

/// (count - 1) * distance + 1, and 0 of nothing.
static std::optional<int64_t> dilate(int64_t count, int64_t distance) {
  if (count == 0)
    return 0;
  int64_t span;
  if (llvm::MulOverflow(count - 1, distance, span) || span >= kMostPlaces)
    return std::nullopt;
  return span + 1;
}

std::optional<int64_t> WindowDim::countWindows(int64_t rows) const {
  std::optional<int64_t> base = dilate(rows, baseDilation);
  std::optional<int64_t> window = dilate(size, windowDilation);
  if (!base || !window || *base + low + high > kMostPlaces)
    return std::nullopt;
  int64_t space = *base + low + high - *window;
  return space < 0 ? 0 : space / stride + 1;
}

std::optional<int64_t> WindowDim::rowAt(int64_t window, int64_t place) const {
  int64_t at = window * stride + place * windowDilation - low;
  if (llvm::mod(at, baseDilation) != 0)
    return std::nullopt;
  return llvm::divideFloorSigned(at, baseDilation);
}

RowMap WindowDim::rowsOfWindow() const {
  return {stride, -low, -low + (size - 1) * windowDilation, baseDilation};
}

RowMap WindowDim::rowsOfKernelRow(int64_t windows) const {
  assert(windows >= 1 && "a kernel's row is read by a window");
  int64_t scale = reversed ? -windowDilation : windowDilation;
  int64_t first = -low + (reversed ? (size - 1) * windowDilation : 0);
  return {scale, first, first + (windows - 1) * stride, baseDilation};
}

RowMap WindowDim::windowsOfRow() const {
  // Window w holds row r where w * stride - low <= r < w * stride - low + size.
  // The first w rounds up, which adds stride - 1 to its numerator.
  int64_t first = low - (size - 1) + (stride - 1);
  return {1, std::min(first, low), low, stride};
}

RowMap WindowDim::neighboursOfRow() const {
  return {1, 1 - std::max(size, stride), size - 1, 1};
}

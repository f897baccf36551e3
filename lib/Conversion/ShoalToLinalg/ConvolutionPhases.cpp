// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConvolutionPhases.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace shoal;

/// Rows `first`, `first + period`, ... of the result.
static ConvolutionPhase phaseOf(const WindowDim &window, int64_t rows,
                                int64_t first, int64_t period) {
  int64_t holes = window.baseDilation;
  ConvolutionPhase phase;
  phase.result = {first, period, llvm::divideCeilSigned(rows - first, period)};
  // Where the place lies that the row reads, among rows and holes.
  auto at = [&](int64_t place) {
    return first * window.stride + place * window.windowDilation - window.low;
  };
  int64_t step = holes / std::gcd(holes, window.windowDilation);
  int64_t place = 0;
  while (place < std::min(step, window.size) && at(place) % holes != 0)
    ++place;
  if (place == std::min(step, window.size))
    return phase;
  int64_t count = (window.size - 1 - place) / step + 1;
  // Reversed, the last of these places is the first row of the kernel.
  int64_t row =
      window.reversed ? window.size - 1 - place - (count - 1) * step : place;
  phase.kernel = {row, step, count};
  phase.window = window;
  phase.window.size = count;
  phase.window.stride = period * window.stride / holes;
  phase.window.windowDilation = step * window.windowDilation / holes;
  phase.window.low = -at(place) / holes;
  phase.window.baseDilation = 1;
  return phase;
}

llvm::SmallVector<ConvolutionPhase> shoal::phasesOf(const WindowDim &window,
                                                    int64_t rows) {
  llvm::SmallVector<ConvolutionPhase> phases;
  if (window.baseDilation == 1) {
    phases.push_back({{0, 1, rows}, {0, 1, window.size}, window});
    return phases;
  }
  int64_t period =
      window.baseDilation / std::gcd(window.baseDilation, window.stride);
  for (int64_t first = 0; first < std::min(period, rows); ++first)
    phases.push_back(phaseOf(window, rows, first, period));
  return phases;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Kernels.h"
#include "CPU/Threads.h"
#include "shoal/Machine/StepTime.h"
#include "shoal/Runtime/ABI.h"
#include "llvm/ADT/STLExtras.h"

#include <unistd.h>

using namespace shoal;
using namespace shoal::bench;

/// Elements of an array that the innermost cache holds, and operations on each.
static constexpr int64_t kElements = 2048, kOperations = 64;
/// Rows that are read by index, and floats of each.
static constexpr int64_t kRows = 4096, kRowFloats = 16;

static float *floats(Tensor &tensor) {
  return static_cast<float *>(tensor.next());
}

static void addArrays(const float *left, const float *right, float *result,
                      int64_t count) {
  rt::parallelFor({count, 12.0}, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      result[i] = left[i] + right[i];
  });
}

/// Each result feeds the next one, as those of a polynomial do.
static void multiplyAndAdd(const float *in, float *result) {
  for (int64_t i = 0; i < kElements; ++i) {
    float value = in[i];
    for (int64_t step = 0; step < kOperations / 2; ++step)
      value = value * 0.5F + 0.25F;
    result[i] = value;
  }
}

static calls::GatherCall gatherCall() {
  calls::WindowLayout windows;
  windows.dims = {{kRows, 1, 0, /*component=*/0, kRowFloats},
                  {kRowFloats, kRowFloats, 1, /*component=*/-1, 1}};
  windows.steps = {{kRows, 1, 0, kRowFloats}};
  return {calls::ElementType::F32, calls::ElementType::I32, windows};
}

Kernels::Kernels(Stopwatch &stopwatch, const Memory &memory) {
  for (int64_t count = 1 << 6; 16 * count <= memory.bytes(); count *= 4) {
    auto add = [count, left = memory.left(4 * count),
                right = memory.right(4 * count),
                result = memory.result(4 * count)]() mutable {
      addArrays(floats(left), floats(right), floats(result), count);
    };
    sums.emplace_back(12 * count, &stopwatch.add(add));
  }
  operations =
      &stopwatch.add([left = memory.left(4 * kElements),
                      result = memory.result(4 * kElements)]() mutable {
        multiplyAndAdd(floats(left), floats(result));
      });
  // In an order that no cache foresees.
  auto places = std::make_shared<std::vector<int32_t>>();
  for (int64_t row = 0; row < kRows; ++row)
    places->push_back(static_cast<int32_t>(row * 1229 % kRows));
  constexpr int64_t bytes = 4 * kRows * kRowFloats;
  auto gather =
      prepareCall(shoal_rt_gather, gatherCall(), memory.left(bytes),
                  static_cast<void *>(places->data()), memory.result(bytes));
  rows = &stopwatch.add([gather, places]() mutable { gather(); });
}

/// The smallest is the start of a kernel and little else.
void Kernels::fit(Chip &chip) const {
  chip.memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                static_cast<double>(sysconf(_SC_PAGESIZE));
  chip.kernel = sums.front().second->seconds;
  auto secondsOf = [&](const Experiment *sum) {
    return std::max(sum->seconds - chip.kernel, 1e-10);
  };
  auto [most, longest] = sums.back();
  chip.memoryBandwidth = static_cast<double>(most) / secondsOf(longest);
  for (auto [bytes, sum] : llvm::drop_begin(sums))
    chip.memoryShare.emplace_back(bytes, static_cast<double>(bytes) /
                                             secondsOf(sum) /
                                             chip.memoryBandwidth);
  chip.elementwiseFlops = kElements * kOperations / operations->seconds;
  Chip noRows = chip;
  double moved = inSeconds(priceKernel(noRows, 8 * kRows * kRowFloats).time);
  chip.indexedRow = std::max(0.0, rows->seconds - moved) / kRows;
}

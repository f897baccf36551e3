// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// gather.

#include "Device.h"
#include "WindowShapes.h"

using namespace shoal::rt;

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
  GatherParameters p{
      describeWindows(boxes, /*clamps=*/true, /*merge=*/true, indices), in,
      out};
  width = widen(p.windows, width, in, out);
  int64_t words = p.windows.batch.count * p.windows.window.count;
  launch(Device::get().compute(), SHOAL_WIDTH_NAMES("shoal_gather").of(width),
         blocksFor(words, blockThreads), p,
         {read, touchedIndices(boxes, indices), write});
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// gather.

#include "Device.h"
#include "WindowShapes.h"

using namespace shoal::rt;

/// Windows begin at 0 along the other dimensions.
static void dropUnindexed(Windows &windows) {
  WindowDim *end =
      std::remove_if(windows.dims, windows.dims + windows.rank,
                     [](const WindowDim &dim) { return dim.component < 0; });
  windows.rank = static_cast<int32_t>(end - windows.dims);
}

extern "C" void shoal_rt_gather(const int64_t *desc, const void *in,
                                const void *indices, void *out) {
  const auto &call = lookUp<GatherCall>(desc);
  IndexedBoxes boxes(call.windows, call.indexType, /*clamps=*/true);
  if (isNothing(boxes))
    return;
  auto width = static_cast<int64_t>(shoal::support::elementSize(call.type));
  Touched read{in, operandElements(boxes) * width, Access::Read};
  Touched write{out, windowsExtent(boxes) * width, Access::Write};
  GatherParameters p{};
  p.windows = describeWindows(boxes, /*clamps=*/true, /*merge=*/true, indices);
  p.in = in;
  p.out = out;
  dropUnindexed(p.windows);
  width *= useWords(p.windows, width, in, out);
  p.rows = Rows(p.windows.rows(), p.windows.rowLength);
  launch(Device::get().compute(), SHOAL_WIDTH_NAMES("shoal_gather").of(width),
         blocksFor(p.rows.threads(), blockThreads), p,
         {read, touchedIndices(boxes, indices), write});
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Program/Calls.h"
#include "../Program/Numeric.h"
#include "SharedLoops.h"
#include "shoal/Calls/Lines.h"
#include "shoal/Support/Threshold.h"

#include <algorithm>

using namespace shoal::rt;

namespace {
/// A tensor as [outer, count, inner] around the scanned dimension.
struct Scan {
  int64_t outer;
  int64_t count;
  int64_t inner;
  bool exclusive;
  bool reverse;
};
} // namespace

static constexpr int64_t maxStrip = 256;
static const shoal::support::Threshold
    wideStrip("lines of a wide strip of a cumulative op", maxStrip),
    narrowStrip("lines of a narrow strip of a cumulative op", 64);

/// Inner is cut into strips, so that the running values stay in cache and rows
/// are walked by vectors.
template <typename T, Kind kind>
static void scanStrip(Scan scan, const char *from, char *to, int64_t width) {
  using Acc = Accumulator<T>;
  const T *in = reinterpret_cast<const T *>(from);
  T *out = reinterpret_cast<T *>(to);
  Acc running[maxStrip];
  std::fill_n(running, width, identity<kind, T>());
  for (int64_t step = 0; step < scan.count; ++step) {
    int64_t row = (scan.reverse ? scan.count - 1 - step : step) * scan.inner;
    for (int64_t i = 0; i < width; ++i) {
      Acc before = running[i];
      running[i] = combine<kind>(before, toAccumulator(in[row + i]));
      out[row + i] = fromAccumulator<T>(scan.exclusive ? before : running[i]);
    }
  }
}

/// Wide strips are a little faster, narrow ones give each thread some.
static const shoal::support::Threshold &chooseStrip(const Scan &scan) {
  bool isEnough = scan.outer * scan.inner >= 2 * maxStrip * threads();
  return threads() == 1 || isEnough ? wideStrip : narrowStrip;
}

/// The only code that knows types: nests call it by pointer.
using ScanStrip = void (*)(Scan scan, const char *in, char *out, int64_t width);

static void scanAll(const Scan &scan, ScanStrip scanStrip, int64_t elementBytes,
                    const char *in, char *out) {
  if (scan.outer == 0 || scan.inner == 0)
    return;
  forEachStrip<1>({{scan.outer, {scan.count * scan.inner * elementBytes}}},
                  {scan.inner, {elementBytes}}, chooseStrip(scan),
                  /*bytes=*/static_cast<double>(scan.count * elementBytes) *
                      bytesPerLoopTerm,
                  [&](const Offsets<1> &at, int64_t, int64_t width) {
                    scanStrip(scan, in + at[0], out + at[0], width);
                  });
}

extern "C" void shoal_rt_cumulative(const int64_t *desc, const void *in,
                                    void *out) {
  const auto &call = lookUp<CumulativeCall>(desc);
  Lines lines(call.shape, call.axis);
  Scan scan{lines.outer, lines.count, lines.inner, call.exclusive,
            call.reverse};
  ScanStrip strip =
      dispatchKind(call.type, call.kind, []<typename T, Kind k>() -> ScanStrip {
        return scanStrip<T, k>;
      });
  scanAll(scan, strip,
          static_cast<int64_t>(shoal::support::elementSize(call.type)),
          static_cast<const char *>(in), static_cast<char *>(out));
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Program/Calls.h"
#include "Combine.h"
#include "Device.h"
#include "KernelLibrary.h"
#include "shoal/Calls/Lines.h"
#include "shoal/Machine/Machine.h"

using namespace shoal::rt;

static void setIdentity(ScanParameters &p, ElementType type, Kind kind) {
  dispatchKind(type, kind, [&]<typename T, Kind k>() {
    using Acc = Accumulator<T>;
    if constexpr (std::is_same_v<Acc, double>)
      p.doubleIdentity = identity<k, T>();
    else if constexpr (std::is_same_v<Acc, float>)
      p.floatIdentity = identity<k, T>();
    else
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number, not a character.
      p.integerIdentity = widen(identity<k, T>());
  });
}

/// A block a line, where lines are dense or too few for a thread each.
static bool takesRows(const ScanParameters &p) {
  constexpr int64_t longEnough = 64;
  return p.count >= longEnough &&
         (p.inner == 1 || p.lines < shoal::gpuMachine.limits.enoughThreads);
}

extern "C" void shoal_rt_cumulative(const int64_t *desc, const void *in,
                                    void *out) {
  const auto &call = lookUp<CumulativeCall>(desc);
  Lines lines(call.shape, call.axis);
  ElementType type = call.type;
  Kind kind = call.kind;
  ScanParameters p{};
  p.count = lines.count;
  p.inner = lines.inner;
  p.lines = lines.number();
  p.exclusive = call.exclusive;
  p.reverse = call.reverse;
  p.type = static_cast<int32_t>(type);
  p.kind = static_cast<int32_t>(kindOn(type, kind));
  p.in = in;
  p.out = out;
  setIdentity(p, type, kind);
  if (p.lines * p.count == 0)
    return;
  int64_t bytes = p.lines * p.count *
                  static_cast<int64_t>(shoal::support::elementSize(type));
  bool rows = takesRows(p);
  const char *name = rows ? SHOAL_WIDE_NAMES("shoal_scan_rows").of(type)
                          : SHOAL_WIDE_NAMES("shoal_scan_lines").of(type);
  launch(Device::get().compute(), name,
         blocksFor(p.lines, rows ? 1 : blockThreads), p,
         {{in, bytes, Access::Read}, {out, bytes, Access::Write}});
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DenseLoops.h"
#include "KernelSchedule.h"

using namespace mlir;
using namespace shoal;

/// A thread's code is not unrolled beyond this many operations.
static constexpr int64_t kMaxVectorBody = 1024;

bool shoal::isVectorAccess(const LoopNest &nest, const Access &access,
                           unsigned loop, int64_t vector) {
  if (access.strides[loop] != 1 || access.jumpsAlong(loop) ||
      access.offset % vector != 0 || access.termUnit % vector != 0)
    return false;
  for (auto [other, stride] : llvm::enumerate(access.strides))
    if (other != loop && stride % vector != 0)
      return false;
  return nest.loops[loop].range % vector == 0;
}

int64_t shoal::countElements(const LoopNest &nest, const Access &access) {
  int64_t count = 1;
  for (auto [number, loop] : llvm::enumerate(nest.loops))
    if (access.strides[number] != 0 || access.jumpsAlong(number))
      count *= loop.range;
  return count;
}

static bool isDenseAlong(const Access &access, unsigned loop) {
  return access.isTouched() && access.strides[loop] == 1 &&
         !access.jumpsAlong(loop);
}

std::optional<unsigned> shoal::findDenseLoop(const LoopNest &nest) {
  std::optional<unsigned> dense;
  int64_t most = 0;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
    int64_t bytes = 0;
    for (const Access &access : nest.accesses)
      if (isDenseAlong(access, loop))
        bytes += countElements(nest, access) * access.elementBytes;
    if (!dense || bytes >= most) {
      dense = loop;
      most = bytes;
    }
  }
  return dense;
}

int64_t shoal::chooseVector(const LoopNest &nest, unsigned loop,
                            const DeviceLimits &limits) {
  int64_t widest = 0;
  for (const Access &access : nest.accesses)
    if (isDenseAlong(access, loop))
      widest = std::max(widest, access.elementBytes);
  if (widest == 0)
    return 1;
  auto suits = [&](int64_t vector) {
    return llvm::all_of(nest.accesses, [&](const Access &access) {
      if (!access.isTouched() || access.strides[loop] == 0 ||
          access.jumpsAlong(loop))
        return true;
      if (access.strides[loop] != 1)
        return !access.isWritten;
      return isVectorAccess(nest, access, loop, vector);
    });
  };
  int64_t vector = limits.vectorBytes / widest;
  while (vector > 1 &&
         (vector * nest.bodySize > kMaxVectorBody || !suits(vector)))
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

const Access *shoal::findMainResult(const LoopNest &nest) {
  const Access *main = nullptr;
  for (const Access &access : nest.accesses)
    if (access.isWritten &&
        (!main || countElements(nest, access) > countElements(nest, *main)))
      main = &access;
  return main;
}

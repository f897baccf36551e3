// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels over arrays, see Parameters.h.

#include "Elements.h"

#include <cmath>

using namespace shoal::rt;

template <typename Word>
static SHOAL_DEVICE void fill(const FillParameters &p) {
  auto *target = static_cast<Word *>(p.target);
  for (int64_t i = threadInGrid(); i < p.count; i += threadsInGrid())
    target[i] = static_cast<Word>(p.bits);
}

SHOAL_KERNEL(shoal_fill_1, FillParameters) { fill<uint8_t>(p); }
SHOAL_KERNEL(shoal_fill_2, FillParameters) { fill<uint16_t>(p); }
SHOAL_KERNEL(shoal_fill_4, FillParameters) { fill<uint32_t>(p); }
SHOAL_KERNEL(shoal_fill_8, FillParameters) { fill<uint64_t>(p); }

template <typename Wide>
static SHOAL_DEVICE void combineParts(const CombineParameters &p) {
  for (int64_t i = threadInGrid(); i < p.count; i += threadsInGrid()) {
    Wide value = loadElement<Wide>(p.in, p.type, i);
    for (int64_t part = 1; part < p.parts; ++part)
      value = roundTo(
          p.type,
          combineWide(p.kind, value,
                      loadElement<Wide>(p.in, p.type, part * p.count + i)));
    storeElement(p.out, p.type, i, value);
  }
}

SHOAL_KERNEL(shoal_combine_float, CombineParameters) { combineParts<float>(p); }
SHOAL_KERNEL(shoal_combine_double, CombineParameters) {
  combineParts<double>(p);
}
SHOAL_KERNEL(shoal_combine_integer, CombineParameters) {
  combineParts<int64_t>(p);
}

/// NaN stays NaN. gelu is the one by tanh, as cuBLASLt's.
template <typename Wide>
static SHOAL_DEVICE Wide activate(int32_t activation, Wide x) {
  if (activation == SHOAL_RT_RELU)
    return combine<Kind::Max>(x, Wide(0));
  if (activation != SHOAL_RT_GELU)
    return x;
  constexpr Wide scale = Wide(0.7978845608028654), cubic = Wide(0.044715);
  // Of the device's overloads; emulated it may be more accurate.
  // NOLINTNEXTLINE(performance-type-promotion-in-math-fn)
  return Wide(0.5) * x * (1 + tanh(scale * (x + cubic * x * x * x)));
}

template <typename Wide>
static SHOAL_DEVICE void runEpilogue(const EpilogueParameters &p) {
  for (int64_t i = threadInGrid(); i < p.nest.count; i += threadsInGrid()) {
    int64_t at[2];
    locate(p.nest, i, at);
    Wide value = loadElement<Wide>(p.source, p.sourceType, at[0]);
    for (const void *scale : p.scales)
      if (scale)
        value *= *static_cast<const float *>(scale);
    if (p.bias)
      value += loadElement<Wide>(p.bias, p.type, at[1]);
    storeElement(p.result, p.type, at[0], activate(p.activation, value));
  }
}

SHOAL_KERNEL(shoal_epilogue_float, EpilogueParameters) {
  runEpilogue<float>(p);
}
SHOAL_KERNEL(shoal_epilogue_double, EpilogueParameters) {
  runEpilogue<double>(p);
}

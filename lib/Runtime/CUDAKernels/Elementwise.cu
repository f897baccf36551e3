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

template <int count, typename Wide>
static SHOAL_DEVICE void combineItems(const CombineParameters &p) {
  forEachChunk(p.rows, [&](auto chunk) {
    chunk.forEach([&](auto index) {
      int64_t at = int64_t(index) * count;
      Wide values[count], next[count];
      loadElements<count>(p.in, p.type, at, values);
      for (int64_t part = 1; part < p.parts; ++part) {
        loadElements<count>(p.in, p.type, part * p.count + at, next);
        SHOAL_UNROLL
        for (int i = 0; i < count; ++i)
          values[i] = roundTo(p.type, combineWide(p.kind, values[i], next[i]));
      }
      storeElements<count>(p.out, p.type, at, values);
    });
  });
}

template <typename Wide>
static SHOAL_DEVICE void combineParts(const CombineParameters &p) {
  if (p.vectors)
    combineItems<vectorElements, Wide>(p);
  else
    combineItems<1, Wide>(p);
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
  if (activation == static_cast<int32_t>(shoal::calls::Activation::Relu))
    return combine<Kind::Max>(x, Wide(0));
  if (activation != static_cast<int32_t>(shoal::calls::Activation::Gelu))
    return x;
  constexpr Wide scale = Wide(0.7978845608028654), cubic = Wide(0.044715);
  // Of the device's overloads; emulated it may be more accurate.
  // NOLINTNEXTLINE(performance-type-promotion-in-math-fn)
  return Wide(0.5) * x * (1 + tanh(scale * (x + cubic * x * x * x)));
}

template <int count, typename Wide>
static SHOAL_DEVICE void runItems(const EpilogueParameters &p) {
  Wide scales[2];
  SHOAL_UNROLL
  for (int i = 0; i < 2; ++i)
    scales[i] = p.scales[i] ? *static_cast<const float *>(p.scales[i]) : 1;
  forEachChunk(p.rows, [&](auto chunk) {
    int64_t at[2];
    locate(p.outer, chunk.row, at);
    chunk.forEach([&](auto index) {
      int64_t place = at[0] + index * count * p.strides[0];
      Wide values[count], bias[count] = {};
      loadElements<count>(p.source, p.sourceType, place, values);
      if (p.bias)
        loadElements<count>(p.bias, p.type,
                            at[1] + index * count * p.strides[1], bias);
      SHOAL_UNROLL
      for (int i = 0; i < count; ++i) {
        Wide value = values[i] * scales[0] * scales[1];
        values[i] = activate(p.activation, p.bias ? value + bias[i] : value);
      }
      storeElements<count>(p.result, p.type, place, values);
    });
  });
}

template <typename Wide>
static SHOAL_DEVICE void runEpilogue(const EpilogueParameters &p) {
  if (p.vectors)
    runItems<vectorElements, Wide>(p);
  else
    runItems<1, Wide>(p);
}

SHOAL_KERNEL(shoal_epilogue_float, EpilogueParameters) {
  runEpilogue<float>(p);
}
SHOAL_KERNEL(shoal_epilogue_double, EpilogueParameters) {
  runEpilogue<double>(p);
}

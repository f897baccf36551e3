// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements whose type is known at run time alone, in kernels. They are computed
// with in one of three wide types: float (f32, bf16, f16, f8), double and
// int64_t (all integers: a result is cut to its width, which is how integers
// wrap). All threads of a launch take the same branch of each switch, so that
// it costs little beside the access to memory.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_ELEMENTS_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_ELEMENTS_H

#include "../Common/Arithmetic.h"
#include "Kernel.h"
#include "Parameters.h"
#include "shoal/Runtime/ABI.h"

namespace shoal::rt {

template <typename Wide, typename T>
SHOAL_DEVICE Wide loadAs(const void *base, int64_t at) {
  return static_cast<Wide>(widen(static_cast<const T *>(base)[at]));
}

template <typename Wide>
SHOAL_DEVICE Wide loadElement(const void *base, int32_t type, int64_t at) {
  if constexpr (std::is_integral_v<Wide>) {
    switch (type) {
    case SHOAL_RT_I64:
      return loadAs<Wide, int64_t>(base, at);
    case SHOAL_RT_I32:
      return loadAs<Wide, int32_t>(base, at);
    case SHOAL_RT_I16:
      return loadAs<Wide, int16_t>(base, at);
    case SHOAL_RT_I8:
      return loadAs<Wide, int8_t>(base, at);
    default:
      return loadAs<Wide, Bool>(base, at);
    }
  } else {
    switch (type) {
    case SHOAL_RT_F64:
      return loadAs<Wide, double>(base, at);
    case SHOAL_RT_BF16:
      return loadAs<Wide, BFloat16>(base, at);
    case SHOAL_RT_F16:
      return loadAs<Wide, Float16>(base, at);
    case SHOAL_RT_F8E4M3FN:
      return loadAs<Wide, Float8E4M3FN>(base, at);
    case SHOAL_RT_F8E5M2:
      return loadAs<Wide, Float8E5M2>(base, at);
    default:
      return loadAs<Wide, float>(base, at);
    }
  }
}

template <typename T, typename Wide>
SHOAL_DEVICE void storeAs(void *base, int64_t at, Wide value) {
  static_cast<T *>(base)[at] = convert<T>(value);
}

template <typename Wide>
SHOAL_DEVICE void storeElement(void *base, int32_t type, int64_t at,
                               Wide value) {
  if constexpr (std::is_integral_v<Wide>) {
    switch (type) {
    case SHOAL_RT_I64:
      return storeAs<int64_t>(base, at, value);
    case SHOAL_RT_I32:
      return storeAs<int32_t>(base, at, value);
    case SHOAL_RT_I16:
      return storeAs<int16_t>(base, at, value);
    case SHOAL_RT_I8:
      return storeAs<int8_t>(base, at, value);
    default:
      return storeAs<Bool>(base, at, value);
    }
  } else {
    switch (type) {
    case SHOAL_RT_F64:
      return storeAs<double>(base, at, value);
    case SHOAL_RT_BF16:
      return storeAs<BFloat16>(base, at, value);
    case SHOAL_RT_F16:
      return storeAs<Float16>(base, at, value);
    case SHOAL_RT_F8E4M3FN:
      return storeAs<Float8E4M3FN>(base, at, value);
    case SHOAL_RT_F8E5M2:
      return storeAs<Float8E5M2>(base, at, value);
    default:
      return storeAs<float>(base, at, value);
    }
  }
}

/// What an element of the type would hold of the value.
template <typename Wide>
SHOAL_DEVICE Wide roundTo(int32_t type, Wide value) {
  if constexpr (std::is_same_v<Wide, float>) {
    if (type == SHOAL_RT_BF16)
      return widen(convert<BFloat16>(value));
    if (type == SHOAL_RT_F16)
      return widen(convert<Float16>(value));
    if (type == SHOAL_RT_F8E4M3FN)
      return widen(convert<Float8E4M3FN>(value));
    if (type == SHOAL_RT_F8E5M2)
      return widen(convert<Float8E5M2>(value));
  }
  return value;
}

/// `kind` is a Kind; on i1 the host has made and / or of it, see kindOn.
template <typename Wide>
SHOAL_DEVICE Wide combineWide(int32_t kind, Wide a, Wide b) {
  switch (static_cast<Kind>(kind)) {
  case Kind::Sum:
    return combine<Kind::Sum>(a, b);
  case Kind::Prod:
    return combine<Kind::Prod>(a, b);
  case Kind::Max:
    return combine<Kind::Max>(a, b);
  case Kind::Min:
    return combine<Kind::Min>(a, b);
  default:
    if constexpr (std::is_integral_v<Wide>)
      return static_cast<Kind>(kind) == Kind::And ? combine<Kind::And>(a, b)
                                                  : combine<Kind::Or>(a, b);
    return a;
  }
}

/// The offsets of iteration `index`. Divisions by 32-bit numbers where they do:
/// those of 64 bits cost a GPU a hundred instructions.
template <int N>
SHOAL_DEVICE void locate(const Nest<N> &nest, int64_t index,
                         int64_t (&offsets)[N]) {
  for (int64_t &offset : offsets)
    offset = 0;
  bool narrow = nest.count <= INT32_MAX;
  for (int l = nest.rank - 1; l > 0; --l) {
    int64_t size = nest.size[l], rest;
    if (narrow)
      rest = static_cast<uint32_t>(index) / static_cast<uint32_t>(size);
    else
      rest = index / size;
    int64_t coordinate = index - rest * size;
    for (int i = 0; i < N; ++i)
      offsets[i] += coordinate * nest.strides[l][i];
    index = rest;
  }
  if (nest.rank > 0)
    for (int i = 0; i < N; ++i)
      offsets[i] += index * nest.strides[0][i];
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_ELEMENTS_H

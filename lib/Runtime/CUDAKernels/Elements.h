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

#include "../Program/Arithmetic.h"
#include "Items.h"
#include "Parameters.h"
#include "shoal/Runtime/ABI.h"

namespace shoal::rt {

/// Calls f.operator()<T>() with the element type, one of those that are
/// computed in Wide; f64 is computed in double alone.
template <typename Wide, typename F>
SHOAL_DEVICE auto dispatchType(int32_t type, F f) {
  if constexpr (std::is_integral_v<Wide>) {
    switch (type) {
    case SHOAL_RT_I64:
      return f.template operator()<int64_t>();
    case SHOAL_RT_I32:
      return f.template operator()<int32_t>();
    case SHOAL_RT_I16:
      return f.template operator()<int16_t>();
    case SHOAL_RT_I8:
      return f.template operator()<int8_t>();
    default:
      return f.template operator()<Bool>();
    }
  } else {
    switch (type) {
    case SHOAL_RT_BF16:
      return f.template operator()<BFloat16>();
    case SHOAL_RT_F16:
      return f.template operator()<Float16>();
    case SHOAL_RT_F8E4M3FN:
      return f.template operator()<Float8E4M3FN>();
    case SHOAL_RT_F8E5M2:
      return f.template operator()<Float8E5M2>();
    case SHOAL_RT_F64:
      if constexpr (std::is_same_v<Wide, double>)
        return f.template operator()<double>();
      [[fallthrough]];
    default:
      return f.template operator()<float>();
    }
  }
}

template <typename Wide>
SHOAL_DEVICE Wide loadElement(const void *base, int32_t type, int64_t at) {
  return dispatchType<Wide>(type, [&]<typename T>() {
    return static_cast<Wide>(widen(static_cast<const T *>(base)[at]));
  });
}

template <typename Wide>
SHOAL_DEVICE void storeElement(void *base, int32_t type, int64_t at,
                               Wide value) {
  dispatchType<Wide>(type, [&]<typename T>() {
    static_cast<T *>(base)[at] = convert<T>(value);
  });
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

/// Elements that a thread takes at a time where they are dense and aligned, as
/// one vector: an access for all of them, and one branch on the type.
template <int count, typename Wide, typename T>
SHOAL_DEVICE void loadVectorAs(const void *base, int64_t at,
                               Wide (&values)[count]) {
  struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Vector {
    T elements[count];
  };
  Vector loaded =
      *reinterpret_cast<const Vector *>(static_cast<const T *>(base) + at);
  SHOAL_UNROLL
  for (int i = 0; i < count; ++i)
    // Whole numbers keep their sign.
    // NOLINTNEXTLINE(bugprone-signed-char-misuse)
    values[i] = static_cast<Wide>(widen(loaded.elements[i]));
}
template <int count, typename Wide, typename T>
SHOAL_DEVICE void storeVectorAs(void *base, int64_t at,
                                const Wide (&values)[count]) {
  struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Vector {
    T elements[count];
  };
  Vector stored;
  SHOAL_UNROLL
  for (int i = 0; i < count; ++i)
    stored.elements[i] = convert<T>(values[i]);
  *reinterpret_cast<Vector *>(static_cast<T *>(base) + at) = stored;
}

template <int count, typename Wide>
SHOAL_DEVICE void loadElements(const void *base, int32_t type, int64_t at,
                               Wide (&values)[count]) {
  dispatchType<Wide>(type, [&]<typename T>() {
    loadVectorAs<count, Wide, T>(base, at, values);
  });
}
template <int count, typename Wide>
SHOAL_DEVICE void storeElements(void *base, int32_t type, int64_t at,
                                const Wide (&values)[count]) {
  dispatchType<Wide>(type, [&]<typename T>() {
    storeVectorAs<count, Wide, T>(base, at, values);
  });
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_ELEMENTS_H

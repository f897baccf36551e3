// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types as C++ types, and the arithmetic of shoal_rt_kind on them.

#ifndef SHOAL_LIB_RUNTIME_CPU_NUMERIC_H
#define SHOAL_LIB_RUNTIME_CPU_NUMERIC_H

#include "../Common/Memory.h"
#include "shoal/Runtime/ABI.h"
#include "shoal/Support/ElementType.h"
#include "shoal/Support/SmallFloat.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace shoal::rt {

using support::BFloat16;
using support::ElementType;
using support::Float16;

/// An i1 in its byte.
struct Bool {
  uint8_t value;
};

enum class Kind { Sum, Prod, Max, Min, And, Or };

template <typename T>
inline constexpr bool isSmallFloat =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <typename T>
inline constexpr bool isFloatType =
    std::is_floating_point_v<T> || isSmallFloat<T>;

/// What sums of a type are held in.
template <typename T>
using Accumulator = std::conditional_t<isSmallFloat<T>, float, T>;

inline float widen(BFloat16 value) { return support::toFloat(value); }
inline float widen(Float16 value) {
#ifdef __F16C__
  return static_cast<float>(std::bit_cast<_Float16>(value.bits));
#else
  return support::toFloat(value);
#endif
}
inline uint8_t widen(Bool value) { return value.value; }
template <typename T>
  requires std::is_arithmetic_v<T>
inline T widen(T value) {
  return value;
}

/// Rounds once; integers wrap.
template <typename To, typename From>
inline To convert(From from) {
  auto value = widen(from);
  if constexpr (std::is_same_v<To, BFloat16>) {
    return support::toBFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Float16>) {
#ifdef __F16C__
    return {std::bit_cast<uint16_t>(static_cast<_Float16>(value))};
#else
    return support::toFloat16(static_cast<float>(value));
#endif
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(value != 0)};
  } else {
    return static_cast<To>(value);
  }
}

template <Kind kind, typename T>
  requires std::is_floating_point_v<T>
inline T combine(T a, T b) {
  if constexpr (kind == Kind::Sum)
    return a + b;
  else if constexpr (kind == Kind::Prod)
    return a * b;
  else if constexpr (kind == Kind::Max)
    return a > b || std::isnan(a) ? a : b; // NaN wins on either side
  else
    return a < b || std::isnan(a) ? a : b;
}

template <Kind kind, typename T>
  requires std::is_integral_v<T>
inline T combine(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if constexpr (kind == Kind::Sum)
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  else if constexpr (kind == Kind::Prod) // no promotion to a signed type
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else if constexpr (kind == Kind::Max)
    return a > b ? a : b;
  else if constexpr (kind == Kind::Min)
    return a < b ? a : b;
  else if constexpr (kind == Kind::And)
    return a & b;
  else
    return a | b;
}

template <Kind kind>
inline Bool combine(Bool a, Bool b) {
  constexpr bool isOr =
      kind == Kind::Sum || kind == Kind::Max || kind == Kind::Or;
  return {static_cast<uint8_t>(isOr ? a.value | b.value : a.value & b.value)};
}

template <Kind kind, typename T>
  requires isSmallFloat<T>
inline T combine(T a, T b) {
  return convert<T>(combine<kind>(widen(a), widen(b)));
}

/// combine(identity, x) == x.
template <Kind kind, typename T>
inline T identity() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, Bool>)
    return {kind == Kind::Prod || kind == Kind::Min || kind == Kind::And};
  else if constexpr (kind == Kind::Sum || kind == Kind::Or)
    return 0;
  else if constexpr (kind == Kind::Prod)
    return 1;
  else if constexpr (kind == Kind::And)
    return static_cast<T>(-1);
  else if constexpr (kind == Kind::Max)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  else
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// Calls f.operator()<T>() with the C++ type of `type`.
template <typename F>
auto dispatchType(ElementType type, F &&f) {
  switch (type) {
  case ElementType::F32:
    return f.template operator()<float>();
  case ElementType::F64:
    return f.template operator()<double>();
  case ElementType::BF16:
    return f.template operator()<BFloat16>();
  case ElementType::F16:
    return f.template operator()<Float16>();
  case ElementType::I64:
    return f.template operator()<int64_t>();
  case ElementType::I32:
    return f.template operator()<int32_t>();
  case ElementType::I16:
    return f.template operator()<int16_t>();
  case ElementType::I8:
    return f.template operator()<int8_t>();
  case ElementType::I1:
    return f.template operator()<Bool>();
  }
  fatal("unknown element type in a descriptor");
}

/// Calls f.operator()<T, kind>(); and / or on floats end the program.
template <typename F>
auto dispatchKind(ElementType type, Kind kind, F &&f) {
  return dispatchType(type, [&]<typename T>() {
    switch (kind) {
    case Kind::Sum:
      return f.template operator()<T, Kind::Sum>();
    case Kind::Prod:
      return f.template operator()<T, Kind::Prod>();
    case Kind::Max:
      return f.template operator()<T, Kind::Max>();
    case Kind::Min:
      return f.template operator()<T, Kind::Min>();
    case Kind::And:
    case Kind::Or:
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, Bool>)
        return kind == Kind::And ? f.template operator()<T, Kind::And>()
                                 : f.template operator()<T, Kind::Or>();
    }
    fatal("a reduction that its element type does not have");
  });
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_NUMERIC_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types as C++ types, and the arithmetic of calls::Kind on them: the
// one definition of it for CPUs and, being constexpr, for CUDA kernels.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_ARITHMETIC_H
#define SHOAL_LIB_RUNTIME_PROGRAM_ARITHMETIC_H

#include "shoal/Calls/Codes.h"
#include "shoal/Support/SmallFloat.h"

#include <limits>
#include <type_traits>

namespace shoal::rt {

using calls::Kind;
using support::BFloat16;
using support::Float16;
using support::Float8E4M3FN;
using support::Float8E5M2;

/// An i1 in its byte.
struct Bool {
  uint8_t value;
};

/// What `kind` means on truth values: any or all of them.
constexpr Kind asLogic(Kind kind) {
  bool isAny = kind == Kind::Sum || kind == Kind::Max || kind == Kind::Or;
  return isAny ? Kind::Or : Kind::And;
}

template <typename T>
inline constexpr bool isFloat8 =
    std::is_same_v<T, Float8E4M3FN> || std::is_same_v<T, Float8E5M2>;

template <typename T>
inline constexpr bool isSmallFloat =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16> || isFloat8<T>;

template <typename T>
inline constexpr bool isFloatType =
    std::is_floating_point_v<T> || isSmallFloat<T>;

/// What sums of a type are held in.
template <typename T>
using Accumulator = std::conditional_t<isSmallFloat<T>, float, T>;

constexpr float widen(BFloat16 value) { return support::toFloat(value); }
constexpr float widen(Float16 value) {
#if defined(__F16C__) && !defined(__CUDA_ARCH__)
  return static_cast<float>(std::bit_cast<_Float16>(value.bits));
#else
  return support::toFloat(value);
#endif
}
template <typename T>
  requires isFloat8<T>
constexpr float widen(T value) {
  return support::toFloat(value);
}
constexpr uint8_t widen(Bool value) { return value.value; }
template <typename T>
  requires std::is_arithmetic_v<T>
constexpr T widen(T value) {
  return value;
}

/// Rounds once; integers wrap.
template <typename To, typename From>
constexpr To convert(From from) {
  auto value = widen(from);
  if constexpr (std::is_same_v<To, BFloat16>) {
    return support::toBFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Float16>) {
#if defined(__F16C__) && !defined(__CUDA_ARCH__)
    return {std::bit_cast<uint16_t>(static_cast<_Float16>(value))};
#else
    return support::toFloat16(static_cast<float>(value));
#endif
  } else if constexpr (std::is_same_v<To, Float8E4M3FN>) {
    return support::toFloat8E4M3FN(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Float8E5M2>) {
    return support::toFloat8E5M2(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(value != 0)};
  } else {
    return static_cast<To>(value);
  }
}

template <typename T>
constexpr Accumulator<T> toAccumulator(T value) {
  if constexpr (isSmallFloat<T>)
    return widen(value);
  else
    return value;
}
template <typename T>
constexpr T fromAccumulator(Accumulator<T> value) {
  if constexpr (isSmallFloat<T>)
    return convert<T>(value);
  else
    return value;
}

/// std::isnan, which is not constexpr.
template <typename T>
constexpr bool isNaN(T value) {
  return value != value; // NOLINT(misc-redundant-expression)
}

/// std::signbit, which is not constexpr.
template <typename T>
constexpr bool isNegative(T value) {
  using Bits = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  return std::bit_cast<Bits>(value) < 0;
}

/// NaN wins on either side, and +0 is greater than -0.
template <Kind kind, typename T>
  requires std::is_floating_point_v<T>
constexpr T combine(T a, T b) {
  if constexpr (kind == Kind::Sum)
    return a + b;
  else if constexpr (kind == Kind::Prod)
    return a * b;
  else if constexpr (kind == Kind::Max)
    return a > b || isNaN(a) || (a == b && !isNegative(a)) ? a : b;
  else
    return a < b || isNaN(a) || (a == b && isNegative(a)) ? a : b;
}

template <Kind kind, typename T>
  requires std::is_integral_v<T>
constexpr T combine(T a, T b) {
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
constexpr Bool combine(Bool a, Bool b) {
  return {combine<asLogic(kind)>(a.value, b.value)};
}

template <Kind kind, typename T>
  requires isSmallFloat<T>
constexpr T combine(T a, T b) {
  return convert<T>(combine<kind>(widen(a), widen(b)));
}

/// combine(identity, x) == x, in what sums of T are held in.
template <Kind kind, typename T>
constexpr Accumulator<T> identity() {
  using Limits = std::numeric_limits<Accumulator<T>>;
  if constexpr (std::is_same_v<T, Bool>)
    return {asLogic(kind) == Kind::And};
  else if constexpr (kind == Kind::Sum || kind == Kind::Or)
    return 0;
  else if constexpr (kind == Kind::Prod)
    return 1;
  else if constexpr (kind == Kind::And)
    return static_cast<T>(-1);
  else if constexpr (std::is_same_v<T, Float8E4M3FN>)
    return kind == Kind::Max ? -448 : 448; // it has no infinity
  else if constexpr (kind == Kind::Max)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  else
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_ARITHMETIC_H

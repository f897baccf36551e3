// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16, f16 and the two floats of 8 bits as bit patterns, converted in
// software: exact on widening, round to nearest, ties to even on narrowing; NaN
// stays NaN. What is too large becomes an infinity, or NaN in f8E4M3FN, which
// has no infinity. CUDA kernels use them too.

#ifndef SHOAL_SUPPORT_SMALLFLOAT_H
#define SHOAL_SUPPORT_SMALLFLOAT_H

#include <bit>
#include <cstdint>

namespace shoal::support {

struct BFloat16 {
  uint16_t bits;
};

struct Float16 {
  uint16_t bits;
};

constexpr float toFloat(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

constexpr BFloat16 toBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return {static_cast<uint16_t>(nan ? (bits >> 16) | 0x40 : rounded)};
}

constexpr float toFloat(Float16 value) {
  uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7fff) << 13;
  if (magnitude >= 0x7c00u << 13) // infinity, NaN
    return std::bit_cast<float>(sign | magnitude | 0x7f800000);
  // Rebias the exponent by a multiplication, which also normalises subnormals.
  float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

constexpr Float16 toFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  uint32_t half = 0;
  if (magnitude > 0x7f800000) { // NaN
    half = 0x7e00;
  } else if (magnitude >= 0x477ff000) { // rounds past 65504
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 leaves the rounded result in the low bits.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<uint32_t>(shifted) - 0x3f000000;
  } else {
    uint32_t rebiased = magnitude - (112u << 23);
    half = (rebiased + 0xfff + ((rebiased >> 13) & 1)) >> 13;
  }
  return {static_cast<uint16_t>(sign | half)};
}

/// Sign, 4 bits of exponent (bias 7), 3 of mantissa; finite up to 448, all ones
/// are NaN.
struct Float8E4M3FN {
  uint8_t bits;
};

/// Sign, 5 bits of exponent (bias 15), 2 of mantissa: the upper half of an f16.
struct Float8E5M2 {
  uint8_t bits;
};

constexpr float toFloat(Float8E4M3FN value) {
  uint32_t sign = static_cast<uint32_t>(value.bits & 0x80) << 24;
  uint32_t magnitude = value.bits & 0x7f;
  if (magnitude == 0x7f) // NaN
    return std::bit_cast<float>(sign | 0x7fc00000);
  // Rebias the exponent by a multiplication, which also normalises subnormals.
  float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

constexpr float toFloat(Float8E5M2 value) {
  return toFloat(Float16{static_cast<uint16_t>(value.bits << 8)});
}

/// The code of a finite magnitude, given as the bits of an f32, below the
/// overflow of a type with this many bits of mantissa and this exponent bias.
constexpr uint32_t roundToFloat8(uint32_t magnitude, int mantissa, int bias) {
  int dropped = 23 - mantissa;
  if (magnitude < static_cast<uint32_t>(128 - bias) << 23) {
    // Subnormal: the sum has the rounded result in its low bits.
    uint32_t unit = static_cast<uint32_t>(127 + 1 - bias + dropped) << 23;
    float shifted =
        std::bit_cast<float>(magnitude) + std::bit_cast<float>(unit);
    return std::bit_cast<uint32_t>(shifted) - unit;
  }
  uint32_t rebiased = magnitude - (static_cast<uint32_t>(127 - bias) << 23);
  uint32_t half = (1u << (dropped - 1)) - 1;
  return (rebiased + half + ((rebiased >> dropped) & 1)) >> dropped;
}

constexpr Float8E4M3FN toFloat8E4M3FN(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 24) & 0x80, magnitude = bits & 0x7fffffff;
  // Past 464, half way from 448 to what would be the next.
  uint32_t code =
      magnitude > 0x43e80000 ? 0x7f : roundToFloat8(magnitude, 3, 7);
  return {static_cast<uint8_t>(sign | code)};
}

constexpr Float8E5M2 toFloat8E5M2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 24) & 0x80, magnitude = bits & 0x7fffffff;
  uint32_t code = 0x7e;        // NaN
  if (magnitude <= 0x7f800000) // from 61440 on, half way from 57344, infinity
    code = magnitude >= 0x47700000 ? 0x7c : roundToFloat8(magnitude, 2, 15);
  return {static_cast<uint8_t>(sign | code)};
}

} // namespace shoal::support

#endif // SHOAL_SUPPORT_SMALLFLOAT_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bf16 and f16 as bit patterns, converted in software: exact on widening,
// round to nearest, ties to even on narrowing; NaN stays NaN. CUDA kernels use
// them too.

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

} // namespace shoal::support

#endif // SHOAL_SUPPORT_SMALLFLOAT_H

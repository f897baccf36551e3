// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/RandomInputs.h"
#include "shoal/Support/SmallFloat.h"

namespace shoal::support {

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

static double toNormal(uint64_t h) {
  // 1 / sqrt(4 * (65536^2 - 1) / 12), the deviation of the sum
  constexpr double scale = 2.6428997921303014e-05;
  int64_t sum =
      (h & 0xffff) + ((h >> 16) & 0xffff) + ((h >> 32) & 0xffff) + (h >> 48);
  return static_cast<double>(sum - 131070) * scale;
}

namespace {
/// Writes run after run of one element type.
template <typename T, T (*convert)(uint64_t)>
struct Filler {
  uint64_t key;
  T *buffer;

  void operator()(int64_t globalIndex, int64_t bufferIndex,
                  int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t index = static_cast<uint64_t>(globalIndex + i) + 1;
      buffer[bufferIndex + i] = convert(mix(key + index * 0x9e3779b97f4a7c15u));
    }
  }
};
} // namespace

template <typename T>
static T toInteger(uint64_t h) {
  return static_cast<T>(h >> 61);
}
static uint8_t toBit(uint64_t h) { return static_cast<uint8_t>(h >> 63); }
static double toDouble(uint64_t h) { return toNormal(h); }
static float toSingle(uint64_t h) { return static_cast<float>(toNormal(h)); }
static BFloat16 toBrain(uint64_t h) { return toBFloat16(toSingle(h)); }
static Float16 toHalf(uint64_t h) { return toFloat16(toSingle(h)); }
static Float8E4M3FN toE4M3FN(uint64_t h) { return toFloat8E4M3FN(toSingle(h)); }
static Float8E5M2 toE5M2(uint64_t h) { return toFloat8E5M2(toSingle(h)); }

void fillRandomBlock(uint64_t seed, std::string_view name, ElementType type,
                     std::span<const int64_t> globalShape, const Block &block,
                     std::span<const int64_t> bufferShape, void *buffer) {
  uint64_t key = mix(seed ^ fnv1a64(name));
  auto fill = [&]<typename T, T (*convert)(uint64_t)>() {
    forEachRun(globalShape, block, bufferShape,
               Filler<T, convert>{key, static_cast<T *>(buffer)});
  };
  switch (type) {
  case ElementType::F32:
    return fill.operator()<float, toSingle>();
  case ElementType::F64:
    return fill.operator()<double, toDouble>();
  case ElementType::BF16:
    return fill.operator()<BFloat16, toBrain>();
  case ElementType::F16:
    return fill.operator()<Float16, toHalf>();
  case ElementType::I64:
    return fill.operator()<int64_t, toInteger<int64_t>>();
  case ElementType::I32:
    return fill.operator()<int32_t, toInteger<int32_t>>();
  case ElementType::I16:
    return fill.operator()<int16_t, toInteger<int16_t>>();
  case ElementType::I8:
    return fill.operator()<int8_t, toInteger<int8_t>>();
  case ElementType::I1:
    return fill.operator()<uint8_t, toBit>();
  case ElementType::F8E4M3FN:
    return fill.operator()<Float8E4M3FN, toE4M3FN>();
  case ElementType::F8E5M2:
    return fill.operator()<Float8E5M2, toE5M2>();
  }
}

void fillRandom(uint64_t seed, std::string_view name, ElementType type,
                std::span<const int64_t> shape, void *buffer) {
  fillRandomBlock(seed, name, type, shape, wholeBlock(shape), shape, buffer);
}

} // namespace shoal::support

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/ElementType.h"

#include <array>

namespace shoal::support {

namespace {
struct TypeInfo {
  std::string_view name;
  size_t bytes;
};
} // namespace

static constexpr std::array<TypeInfo, numElementTypes> typeInfos = {{
    {"f32", 4},
    {"f64", 8},
    {"bf16", 2},
    {"f16", 2},
    {"i64", 8},
    {"i32", 4},
    {"i16", 2},
    {"i8", 1},
    {"i1", 1},
    {"f8E4M3FN", 1},
    {"f8E5M2", 1},
}};

std::string_view elementTypeName(ElementType type) {
  return typeInfos[static_cast<size_t>(type)].name;
}

std::optional<ElementType> parseElementType(std::string_view name) {
  for (size_t i = 0; i < typeInfos.size(); ++i)
    if (typeInfos[i].name == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

size_t elementSize(ElementType type) {
  return typeInfos[static_cast<size_t>(type)].bytes;
}

bool isFloat8(ElementType type) {
  return type == ElementType::F8E4M3FN || type == ElementType::F8E5M2;
}

bool isSmallFloat(ElementType type) {
  return type == ElementType::BF16 || type == ElementType::F16 ||
         isFloat8(type);
}

bool isFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64 ||
         isSmallFloat(type);
}

int64_t numElements(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string formatShape(std::span<const int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::string formatTensor(ElementType type, std::span<const int64_t> shape) {
  return "tensor " + formatShape(shape) + " " +
         std::string(elementTypeName(type));
}

} // namespace shoal::support

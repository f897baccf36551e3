// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types that cross the boundary of a program: in .npy files, in an
// executable's metadata and in the descriptors of the runtime's C ABI.

#ifndef SHOAL_SUPPORT_ELEMENTTYPE_H
#define SHOAL_SUPPORT_ELEMENTTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shoal::support {

/// The values are those of shoal_rt_type in Runtime/ABI.h.
enum class ElementType : int64_t {
  F32 = 0,
  F64 = 1,
  BF16 = 2,
  F16 = 3,
  I64 = 4,
  I32 = 5,
  I16 = 6,
  I8 = 7,
  /// Stored as one byte, 0 or 1.
  I1 = 8,
  F8E4M3FN = 9,
  F8E5M2 = 10,
};

inline constexpr int64_t numElementTypes = 11;

/// "f32", "bf16", "i1"...: MLIR's spelling.
std::string_view elementTypeName(ElementType type);

/// The inverse of elementTypeName; none for an unknown name.
std::optional<ElementType> parseElementType(std::string_view name);

/// Bytes of one element in a buffer and in a .npy file.
size_t elementSize(ElementType type);

bool isFloat(ElementType type);

/// The floats of 8 bits.
bool isFloat8(ElementType type);

/// The floats of less than 32 bits, whose sums are held in f32.
bool isSmallFloat(ElementType type);

/// The product of the sizes; 1 for a scalar.
int64_t numElements(std::span<const int64_t> shape);

/// "8x512x256", or "scalar" for rank 0.
std::string formatShape(std::span<const int64_t> shape);

/// "tensor 8x512x256 f32", "tensor scalar i32".
std::string formatTensor(ElementType type, std::span<const int64_t> shape);

} // namespace shoal::support

#endif // SHOAL_SUPPORT_ELEMENTTYPE_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the element types and kinds of descriptors to those of C++.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_NUMERIC_H
#define SHOAL_LIB_RUNTIME_PROGRAM_NUMERIC_H

#include "Arithmetic.h"
#include "Fatal.h"
#include "shoal/Products/Loops.h"
#include "shoal/Support/ElementType.h"

namespace shoal::rt {

using namespace products;
using support::ElementType;

/// What is only moved has the same bits as an integer: fewer instantiations.
inline ElementType sameSizeInteger(ElementType type) {
  switch (support::elementSize(type)) {
  case 8:
    return ElementType::I64;
  case 4:
    return ElementType::I32;
  case 2:
    return ElementType::I16;
  default:
    return ElementType::I8;
  }
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
  case ElementType::F8E4M3FN:
    return f.template operator()<Float8E4M3FN>();
  case ElementType::F8E5M2:
    return f.template operator()<Float8E5M2>();
  }
  fatal("unknown element type in a descriptor");
}

/// Calls f.operator()<T, kind>(). And / or on floats end the program; truth
/// values have these two alone, whatever they are called.
template <typename F>
auto dispatchKind(ElementType type, Kind kind, F &&f) {
  if (type == ElementType::I1)
    kind = asLogic(kind);
  return dispatchType(type, [&]<typename T>() {
    constexpr bool isBool = std::is_same_v<T, Bool>;
    if constexpr (isBool || std::is_integral_v<T>) {
      if (kind == Kind::And)
        return f.template operator()<T, Kind::And>();
      if (kind == Kind::Or)
        return f.template operator()<T, Kind::Or>();
    }
    if constexpr (!isBool) {
      if (kind == Kind::Sum)
        return f.template operator()<T, Kind::Sum>();
      if (kind == Kind::Prod)
        return f.template operator()<T, Kind::Prod>();
      if (kind == Kind::Max)
        return f.template operator()<T, Kind::Max>();
      if (kind == Kind::Min)
        return f.template operator()<T, Kind::Min>();
    }
    fatal("a reduction that its element type does not have");
  });
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_NUMERIC_H

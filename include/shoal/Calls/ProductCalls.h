// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tensors.

#ifndef SHOAL_CALLS_PRODUCTCALLS_H
#define SHOAL_CALLS_PRODUCTCALLS_H

#include "shoal/Calls/Codes.h"
#include "shoal/Calls/Encoding.h"
#include "shoal/Support/ElementType.h"

namespace shoal::calls {

using support::ElementType;

/// The letters of a tensor's dimensions, by number.
using Letters = std::vector<int64_t>;

struct EinsumCall {
  static constexpr const char *name = "einsum";
  static constexpr const char *arguments =
      "operands..., scales..., bias, out, scratch";

  std::vector<ElementType> typesIn;
  ElementType typeOut{};
  std::vector<int64_t> sizes;
  std::vector<Letters> operands;
  Letters result;
  int64_t numScales = 0;
  std::optional<Letters> bias;
  Activation activation = Activation::None;

  bool operator==(const EinsumCall &) const = default;
  static constexpr auto fields() {
    using Call = EinsumCall;
    return std::tuple{
        field("types_in", &Call::typesIn, "of each operand"),
        field("type_out", &Call::typeOut, "of the result and the bias"),
        field("sizes", &Call::sizes, "of each letter"),
        field("operands", &Call::operands, "the letters of one or two"),
        field("result", &Call::result, "its letters"),
        field("num_scales", &Call::numScales, "0, 1 or 2"),
        field("bias", &Call::bias, "its letters, some of the result's"),
        field("activation", &Call::activation, "")};
  }
};

struct RaggedEinsumCall {
  static constexpr const char *name = "ragged_einsum";
  static constexpr const char *arguments =
      "in0, in1, begins, ends, out, scratch";

  ElementType typeIn{}, typeOut{}, boundType{};
  std::vector<int64_t> sizes;
  int64_t rowLetter = 0;
  std::array<Letters, 4> terms;

  bool operator==(const RaggedEinsumCall &) const = default;
  static constexpr auto fields() {
    using Call = RaggedEinsumCall;
    return std::tuple{
        field("type_in", &Call::typeIn, "of both operands"),
        field("type_out", &Call::typeOut, "of the result"),
        field("bound_type", &Call::boundType, "i32 or i64"),
        field("sizes", &Call::sizes, "of each letter"),
        field("row_letter", &Call::rowLetter, "the letter of the rows"),
        field("terms", &Call::terms,
              "the letters of in0, in1, both bounds and the result")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_PRODUCTCALLS_H

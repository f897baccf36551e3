// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tensors.

#ifndef SHOAL_CALLS_PRODUCTCALLS_H
#define SHOAL_CALLS_PRODUCTCALLS_H

#include "shoal/Calls/Codes.h"
#include "shoal/Calls/ProductPlan.h"

namespace shoal::calls {

/// The letters of a tensor's dimensions, by number.
using Letters = std::vector<int64_t>;

struct EinsumCall {
  static constexpr const char *name = "einsum";
  static constexpr const char *arguments =
      "operand0, operand1, scales..., bias, out, scratch";

  ProductTypes types;
  /// Of both operands and the result.
  std::array<int64_t, 3> elements = {};
  int64_t numScales = 0;
  /// Where there is a bias: the result, then the bias, by dimension of the
  /// result.
  std::optional<Loops<2>> bias;
  Activation activation = Activation::None;
  ProductPlan plan;

  bool operator==(const EinsumCall &) const = default;
  static constexpr auto fields() {
    using Call = EinsumCall;
    return std::tuple{
        field("types", &Call::types, "the result's is the bias', too"),
        field("elements", &Call::elements, "of both operands and the result"),
        field("num_scales", &Call::numScales, "0, 1 or 2"),
        field("bias", &Call::bias,
              "the dimensions of the result: in the result and in the bias"),
        field("activation", &Call::activation, ""),
        field("plan", &Call::plan, "how it is computed")};
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

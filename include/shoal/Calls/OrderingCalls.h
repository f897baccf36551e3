// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scans and selection along one dimension.

#ifndef SHOAL_CALLS_ORDERINGCALLS_H
#define SHOAL_CALLS_ORDERINGCALLS_H

#include "shoal/Calls/Codes.h"
#include "shoal/Calls/Encoding.h"
#include "shoal/Support/ElementType.h"

namespace shoal::calls {

using support::ElementType;

struct CumulativeCall {
  static constexpr const char *name = "cumulative";
  static constexpr const char *arguments = "in, out";

  ElementType type{};
  Kind kind{};
  std::vector<int64_t> shape;
  int64_t axis = 0;
  bool exclusive = false, reverse = false;

  bool operator==(const CumulativeCall &) const = default;
  static constexpr auto fields() {
    using Call = CumulativeCall;
    return std::tuple{
        field("type", &Call::type, ""),
        field("kind", &Call::kind, ""),
        field("shape", &Call::shape, "of in and out"),
        field("axis", &Call::axis, "a dimension"),
        field("exclusive", &Call::exclusive, "without the element itself"),
        field("reverse", &Call::reverse, "from the end")};
  }
};

struct TopKCall {
  static constexpr const char *name = "top_k";
  static constexpr const char *arguments = "in, values, indices, scratch";

  ElementType type{};
  std::vector<int64_t> shape;
  int64_t k = 0;

  bool operator==(const TopKCall &) const = default;
  static constexpr auto fields() {
    return std::tuple{field("type", &TopKCall::type, ""),
                      field("shape", &TopKCall::shape, "of in"),
                      field("k", &TopKCall::k, "")};
  }
};

struct SortCall {
  static constexpr const char *name = "sort";
  static constexpr const char *arguments = "ins..., outs..., scratch";

  std::vector<ElementType> types;
  int64_t numKeys = 0;
  bool descending = false;
  int64_t axis = 0;
  std::vector<int64_t> shape;

  bool operator==(const SortCall &) const = default;
  static constexpr auto fields() {
    using Call = SortCall;
    return std::tuple{field("types", &Call::types, "of each operand"),
                      field("num_keys", &Call::numKeys, "the first operands"),
                      field("descending", &Call::descending, ""),
                      field("axis", &Call::axis, "a dimension"),
                      field("shape", &Call::shape, "of each operand")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_ORDERINGCALLS_H

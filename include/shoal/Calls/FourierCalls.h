// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fourier transforms.

#ifndef SHOAL_CALLS_FOURIERCALLS_H
#define SHOAL_CALLS_FOURIERCALLS_H

#include "shoal/Calls/Encoding.h"
#include "shoal/Support/ElementType.h"

namespace shoal::calls {

using support::ElementType;

struct FftCall {
  static constexpr const char *name = "fft";
  static constexpr const char *arguments = "ins..., outs..., scratch";

  ElementType type{};
  int64_t numInputs = 0, numOutputs = 0;
  bool inverse = false;
  int64_t axis = 0, length = 0;
  std::vector<int64_t> shape;

  bool operator==(const FftCall &) const = default;
  static constexpr auto fields() {
    using Call = FftCall;
    return std::tuple{
        field("type", &Call::type, "of each operand"),
        field("num_inputs", &Call::numInputs, "2, or 1 of real numbers"),
        field("num_outputs", &Call::numOutputs, "2, or 1 of real numbers"),
        field("inverse", &Call::inverse, ""),
        field("axis", &Call::axis, "a dimension"),
        field("length", &Call::length, "of a whole line"),
        field("shape", &Call::shape, "of each input")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_FOURIERCALLS_H

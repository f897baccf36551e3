// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a program's own code: kernels, functions of its user, copies.

#ifndef SHOAL_CALLS_PROGRAMCALLS_H
#define SHOAL_CALLS_PROGRAMCALLS_H

#include "shoal/Calls/Codes.h"
#include "shoal/Calls/Encoding.h"
#include "shoal/Support/ElementType.h"

namespace shoal::calls {

using support::ElementType;

/// What a kernel touches of a buffer.
struct TouchedBytes {
  static constexpr const char *name = "touched bytes";

  int64_t offset = 0, bytes = 0;
  Access access = Access::Read;

  bool operator==(const TouchedBytes &) const = default;
  static constexpr auto fields() {
    return std::tuple{
        field("offset", &TouchedBytes::offset, "behind the pointer"),
        field("bytes", &TouchedBytes::bytes, "from there on, at most"),
        field("access", &TouchedBytes::access, "")};
  }
};

struct LaunchCall {
  static constexpr const char *name = "launch";
  static constexpr const char *arguments = "buffers...";

  int64_t kernel = 0;
  std::array<int64_t, 3> grid{}, block{};
  int64_t sharedBytes = 0;
  std::vector<TouchedBytes> buffers;

  bool operator==(const LaunchCall &) const = default;
  static constexpr auto fields() {
    using Call = LaunchCall;
    return std::tuple{
        field("kernel", &Call::kernel, "index into the metadata's \"kernels\""),
        field("grid", &Call::grid, "x, y, z"),
        field("block", &Call::block, "x, y, z"),
        field("shared_bytes", &Call::sharedBytes, "dynamic shared memory"),
        field("buffers", &Call::buffers, "what of each is touched")};
  }
};

struct CopyCall {
  static constexpr const char *name = "copy";
  static constexpr const char *arguments = "in, out";

  int64_t bytes = 0;

  bool operator==(const CopyCall &) const = default;
  static constexpr auto fields() {
    return std::tuple{field("bytes", &CopyCall::bytes, "")};
  }
};

struct ReadScalarCall {
  static constexpr const char *name = "read_scalar";
  static constexpr const char *arguments = "in";

  ElementType type{};

  bool operator==(const ReadScalarCall &) const = default;
  static constexpr auto fields() {
    return std::tuple{field("type", &ReadScalarCall::type, "an integer")};
  }
};

struct TensorShape {
  static constexpr const char *name = "tensor";

  ElementType type{};
  std::vector<int64_t> shape;

  bool operator==(const TensorShape &) const = default;
  static constexpr auto fields() {
    return std::tuple{field("type", &TensorShape::type, ""),
                      field("shape", &TensorShape::shape, "")};
  }
};

struct CustomCall {
  static constexpr const char *name = "custom_call";
  static constexpr const char *arguments = "function, ins..., outs...";

  std::vector<TensorShape> operands, results;
  std::string target, config;

  bool operator==(const CustomCall &) const = default;
  static constexpr auto fields() {
    return std::tuple{
        field("operands", &CustomCall::operands, ""),
        field("results", &CustomCall::results, ""),
        field("target", &CustomCall::target, "the function's name"),
        field("config", &CustomCall::config, "handed to the function")};
  }
};

struct HostCall {
  static constexpr const char *name = "host_call";
  static constexpr const char *arguments = "ins..., when, outs...";

  std::vector<TensorShape> operands, results;
  bool hasWhen = false;
  std::optional<int64_t> number;
  std::vector<int64_t> unsignedOperands;
  std::string text, place;

  bool operator==(const HostCall &) const = default;
  static constexpr auto fields() {
    using Call = HostCall;
    return std::tuple{
        field("operands", &Call::operands, ""),
        field("results", &Call::results, ""),
        field("has_when", &Call::hasWhen,
              "whether there is an argument that says if this device calls"),
        field("number", &Call::number, "the host's function; none to print"),
        field("unsigned", &Call::unsignedOperands,
              "the numbers of operands that are printed without a sign"),
        field("text", &Call::text, "the function's name, or a format"),
        field("place", &Call::place, "the user's line")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_PROGRAMCALLS_H

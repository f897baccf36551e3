// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows whose places an array of indices gives.

#ifndef SHOAL_CALLS_INDEXINGCALLS_H
#define SHOAL_CALLS_INDEXINGCALLS_H

#include "shoal/Calls/Codes.h"
#include "shoal/Calls/Encoding.h"
#include "shoal/Support/ElementType.h"

namespace shoal::calls {

using support::ElementType;

/// Boxes of one tensor, the operand. Strides count elements.
struct WindowLayout {
  static constexpr const char *name = "windows";

  /// A dimension of the operand.
  struct Dim {
    static constexpr const char *name = "window dim";

    int64_t size = 0;
    /// Of the box along it, and its distance in the boxes' tensor.
    int64_t boxSize = 0;
    int64_t boxStride = 0;
    /// Where in an index its start is; -1 where boxes begin at 0.
    int64_t component = -1;
    /// Its own stride.
    int64_t stride = 0;

    /// The greatest start at which the box fits.
    int64_t lastStart() const { return size - boxSize; }
    bool operator==(const Dim &) const = default;
    static constexpr auto fields() {
      return std::tuple{
          field("size", &Dim::size, "of the operand"),
          field("box_size", &Dim::boxSize, "of a window"),
          field("box_stride", &Dim::boxStride,
                "elements between its rows in the windows' tensor"),
          field("component", &Dim::component,
                "where in an index its start is; -1: at 0"),
          field("stride", &Dim::stride,
                "elements between its rows in the operand")};
    }
  };

  /// One loop from window to window: elements that a step goes on by in each
  /// of the tensors.
  struct Step {
    static constexpr const char *name = "window step";

    int64_t size = 0;
    int64_t indices = 0, operand = 0, windows = 0;

    bool operator==(const Step &) const = default;
    static constexpr auto fields() {
      return std::tuple{
          field("size", &Step::size, "how many windows"),
          field("indices", &Step::indices, "elements of the indices"),
          field("operand", &Step::operand, "elements of the operand, or 0"),
          field("windows", &Step::windows, "elements of the windows' tensor")};
    }
  };

  std::vector<Dim> dims;
  std::vector<Step> steps;

  bool operator==(const WindowLayout &) const = default;
  static constexpr auto fields() {
    using Layout = WindowLayout;
    return std::tuple{
        field("dims", &Layout::dims, "each dimension of the operand"),
        field("steps", &Layout::steps, "nested loops over all windows")};
  }
};

struct GatherCall {
  static constexpr const char *name = "gather";
  static constexpr const char *arguments = "in, indices, out";

  ElementType type{}, indexType{};
  WindowLayout windows;

  bool operator==(const GatherCall &) const = default;
  static constexpr auto fields() {
    using Call = GatherCall;
    return std::tuple{field("type", &Call::type, "of the elements"),
                      field("index_type", &Call::indexType, "an integer"),
                      field("windows", &Call::windows, "of in; out has them")};
  }
};

struct ScatterCall {
  static constexpr const char *name = "scatter";
  static constexpr const char *arguments = "indices, updates, inout, scratch";

  ElementType type{}, indexType{};
  std::optional<Kind> kind;
  bool clamps = false, isUnique = false;
  WindowLayout windows;

  bool operator==(const ScatterCall &) const = default;
  static constexpr auto fields() {
    using Call = ScatterCall;
    return std::tuple{
        field("type", &Call::type, "of the elements"),
        field("index_type", &Call::indexType, "an integer"),
        field("kind", &Call::kind, "none to overwrite"),
        field("clamps", &Call::clamps, "starts, as a gather does"),
        field("is_unique", &Call::isUnique,
              "whether no two windows within inout begin at the same place"),
        field("windows", &Call::windows, "of inout; updates has them")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_INDEXINGCALLS_H

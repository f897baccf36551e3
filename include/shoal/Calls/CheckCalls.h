// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that look at a program's values while it runs.

#ifndef SHOAL_CALLS_CHECKCALLS_H
#define SHOAL_CALLS_CHECKCALLS_H

#include "shoal/Calls/CollectiveCalls.h"

namespace shoal::calls {

struct CheckCall {
  static constexpr const char *name = "check";
  static constexpr const char *arguments = "in";

  ElementType type{};
  int64_t mesh = 0;
  BlockShapes blocks;
  Axes varying;
  int64_t value = 0;
  CheckRole role{};
  std::vector<int64_t> sources;
  bool assumesNaN = false, assumesInf = false;
  bool findsNaN = false, findsInf = false, comparesReplicas = false;
  std::string what, place;

  bool operator==(const CheckCall &) const = default;
  static constexpr auto fields() {
    using Call = CheckCall;
    return std::tuple{
        field("type", &Call::type, ""),
        field("mesh", &Call::mesh, "index into the metadata's \"meshes\""),
        field("blocks", &Call::blocks, "in is a block"),
        field("varying", &Call::varying,
              "the axes along which devices may hold different blocks although "
              "no dimension is split over them"),
        field("value", &Call::value, "the value's number"),
        field("role", &Call::role, ""),
        field("sources", &Call::sources,
              "the numbers of the values that it was made from"),
        field("assumes_nan", &Call::assumesNaN,
              "whether a constant that it was made from holds NaN"),
        field("assumes_inf", &Call::assumesInf, "or infinities"),
        field("finds_nan", &Call::findsNaN,
              "whether a NaN that the sources have not ends the step"),
        field("finds_inf", &Call::findsInf, "the same of infinities"),
        field("compares_replicas", &Call::comparesReplicas,
              "whether devices that should hold the same do so"),
        field("what", &Call::what, "the op's name, or the input's"),
        field("place", &Call::place, "the user's line")};
  }
};

struct IterationCall {
  static constexpr const char *name = "iteration";
  static constexpr const char *arguments = "";

  int64_t depth = 0;
  IterationEvent event{};
  std::string place;

  bool operator==(const IterationCall &) const = default;
  static constexpr auto fields() {
    using Call = IterationCall;
    return std::tuple{
        field("depth", &Call::depth, "how many loops are around this one"),
        field("event", &Call::event, ""),
        field("place", &Call::place, "the loop's line")};
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_CHECKCALLS_H

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Support/Threshold.h"

#include <cstdio>
#include <sstream>

namespace shoal::support {

/// All that have been made, the last one first. Known before any of them is.
static constinit std::atomic<const Threshold *> newest = nullptr;

Threshold::Threshold(const char *name, double value) noexcept
    : name(name), value(value), next(newest.exchange(this)) {}

std::string takeSides() {
  std::string text;
  for (const Threshold *one = newest; one; one = one->next) {
    char line[64];
    std::snprintf(line, sizeof(line), ":%.17g:%d:%d\n", one->value,
                  one->below.exchange(false), one->above.exchange(false));
    text += one->name + std::string(line);
  }
  return text;
}

std::vector<Sides> readSides(const std::string &text) {
  std::vector<Sides> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Sides sides;
    char colons[2] = {};
    std::istringstream rest(line);
    if (std::getline(rest, sides.name, ':') && rest >> sides.value >>
                                                   colons[0] >> sides.below >>
                                                   colons[1] >> sides.above)
      all.push_back(sides);
  }
  return all;
}

} // namespace shoal::support

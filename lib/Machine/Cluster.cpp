// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Machine/Cluster.h"
#include "ClusterKeys.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <cmath>

using namespace shoal;

const char *shoal::nameOf(CollectiveKind kind) {
  for (auto [word, each] : detail::kCollectiveNames)
    if (each == kind)
      return word;
  llvm_unreachable("no such kind");
}

int64_t Cluster::devices() const {
  int64_t count = 1;
  for (const Level &level : levels)
    count *= level.size;
  return count;
}

double shoal::valueAt(const Curve &curve, double x) {
  auto isBefore = [](const auto &point, double x) { return point.first < x; };
  auto behind = llvm::lower_bound(curve, x, isBefore);
  if (behind == curve.begin())
    return curve.front().second;
  if (behind == curve.end())
    return curve.back().second;
  auto [x0, y0] = *std::prev(behind);
  auto [x1, y1] = *behind;
  double share = std::log(x / x0) / std::log(x1 / x0);
  return y0 * std::pow(y1 / y0, share);
}

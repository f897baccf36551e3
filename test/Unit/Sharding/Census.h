// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All shardings of a tensor, and what a device lacks that goes from one to
// another.

#ifndef SHOAL_TEST_UNIT_SHARDING_CENSUS_H
#define SHOAL_TEST_UNIT_SHARDING_CENSUS_H

#include "shoal/Sharding/Sharding.h"
#include <algorithm>
#include <vector>

namespace shoal::testing {

/// All shardings of a tensor over the mesh's axes, without partial sums.
inline std::vector<Sharding> allShardings(const Mesh &mesh, size_t rank = 2) {
  std::vector<Sharding> all = {Sharding::replicated(rank)};
  for (AxisId axis = 0; axis < mesh.axes.size(); ++axis) {
    std::vector<Sharding> more;
    for (const Sharding &sharding : all)
      for (size_t d = 0; d < rank; ++d)
        for (size_t at = 0; at <= sharding.dims[d].size(); ++at) {
          more.push_back(sharding);
          AxisList &dim = more.back().dims[d];
          dim.insert(dim.begin() + at, axis);
        }
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

/// The elements that the device whose block is worst lacks, counted one by one.
inline double lackingBytes(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                           const Sharding &from, const Sharding &to) {
  int64_t worst = 0;
  for (int64_t p = 0; p < mesh.numDevices(); ++p) {
    std::vector<int64_t> at = mesh.coordinates(p);
    int64_t own = 1, common = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      auto rows = [&](const Sharding &sharding) {
        return shardRows(shape[d], mesh.sizeOf(sharding.dims[d]),
                         mesh.indexOver(sharding.dims[d], at));
      };
      RowRange a = rows(from), b = rows(to);
      own *= b.size();
      common *= std::max<int64_t>(0, std::min(a.end, b.end) -
                                         std::max(a.begin, b.begin));
    }
    worst = std::max(worst, own - common);
  }
  return 4.0 * worst;
}

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_CENSUS_H

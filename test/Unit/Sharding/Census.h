// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All shardings of a tensor, pairs of them, and what a device lacks that goes
// from one to another.

#ifndef SHOAL_TEST_UNIT_SHARDING_CENSUS_H
#define SHOAL_TEST_UNIT_SHARDING_CENSUS_H

#include "ProgramBuilder.h"
#include "shoal/Sharding/Sharding.h"
#include <algorithm>
#include <random>
#include <tuple>
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

/// The same with sums: each is partial over some of the axes that it does not
/// use, and over one at least.
inline std::vector<Sharding> allPartialShardings(const Mesh &mesh,
                                                 size_t rank = 2) {
  std::vector<Sharding> all;
  for (const Sharding &sharding : allShardings(mesh, rank))
    for (unsigned set = 1; set < 1u << mesh.axes.size(); ++set) {
      Sharding partial = sharding;
      for (AxisId axis = 0; axis < mesh.axes.size(); ++axis)
        if (set >> axis & 1)
          partial.partial.push_back(axis);
      if (llvm::none_of(partial.partial,
                        [&](AxisId axis) { return sharding.uses(axis); }))
        all.push_back(partial);
    }
  return all;
}

/// At most `most` pairs, drawn at random, of a source and another target; all
/// where there are no more. Without targets the sources are.
inline std::vector<std::pair<Sharding, Sharding>>
drawPairs(const std::vector<Sharding> &sources,
          const std::vector<Sharding> &targets, size_t most) {
  std::vector<std::pair<Sharding, Sharding>> pairs;
  for (const Sharding &source : sources)
    for (const Sharding &target : targets.empty() ? sources : targets)
      if (source != target)
        pairs.emplace_back(source, target);
  std::mt19937 random(1);
  std::shuffle(pairs.begin(), pairs.end(), random);
  pairs.resize(std::min(pairs.size(), most));
  return pairs;
}

/// Tensors and meshes on which all splits are even, with the number of pairs
/// to look at.
inline std::vector<std::tuple<llvm::SmallVector<int64_t>, Mesh, size_t>>
evenCensus() {
  constexpr size_t kAll = 100000;
  Mesh cube = makeMesh({{"x", 2}, {"y", 2}, {"z", 2}});
  return {{{24, 48}, makeMesh({{"x", 2}, {"y", 2}}), kAll},
          {{24, 48}, makeMesh({{"x", 2}, {"y", 4}}), kAll},
          {{24, 48}, cube, kAll},
          {{8, 24, 16}, cube, 600},
          {{8, 24, 16}, makeMesh({{"x", 4}, {"y", 2}}), 600}};
}

/// "2x4, 24x48"
inline std::string describe(llvm::ArrayRef<int64_t> shape, const Mesh &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh.axes)
    text += (text.empty() ? "" : "x") + std::to_string(axis.size);
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i == 0 ? ", " : "x") + std::to_string(size);
  return text;
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

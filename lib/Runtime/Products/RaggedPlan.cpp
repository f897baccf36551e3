// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RaggedPlan.h"

#include <map>

namespace shoal::rt {

RaggedPlan::RaggedPlan(const RaggedEinsumCall &call, const ProductModel &model)
    : RaggedProduct(call, model) {
  for (int64_t letter : terms[Out])
    resultElements *= sizes[letter];
}

int64_t RaggedPlan::boundAt(const void *bounds, int64_t place) const {
  int64_t bound = boundType == ElementType::I64
                      ? static_cast<const int64_t *>(bounds)[place]
                      : static_cast<const int32_t *>(bounds)[place];
  return std::clamp<int64_t>(bound, 0, sizes[rowLetter]);
}

/// Those with rows, in the order of the bounds.
std::vector<RaggedPlan::Group> RaggedPlan::listGroups(const void *begins,
                                                      const void *ends) const {
  Loops<numTensors> loops;
  for (int64_t letter : terms[Bounds]) {
    if (sizes[letter] == 0)
      return {};
    Loop<numTensors> loop{sizes[letter], {}};
    for (size_t t = 0; t < numTensors; ++t)
      loop.strides[t] = strides[t][letter];
    loops.push_back(loop);
  }
  std::vector<Group> groups;
  forEach<numTensors>(loops, [&](const Offsets<numTensors> &at) {
    int64_t begin = boundAt(begins, at[Bounds]);
    int64_t count = boundAt(ends, at[Bounds]) - begin;
    if (count <= 0)
      return;
    Group group{at, begin, count};
    for (size_t t = 0; t < numTensors; ++t)
      group.offsets[t] += begin * strides[t][rowLetter];
    groups.push_back(group);
  });
  return groups;
}

/// Whether no element of the result belongs to two groups; false where finding
/// out would cost more than adding.
bool RaggedPlan::areDisjoint(const std::vector<Group> &groups) const {
  bool keepsRows = contains(terms[Out], rowLetter);
  std::map<int64_t, int64_t> endOf; // by the place of row 0
  for (const Group &group : groups) {
    int64_t place = group.offsets[Out] - group.begin * strides[Out][rowLetter];
    auto [end, isFirst] = endOf.try_emplace(place, 0);
    if (!isFirst && (!keepsRows || group.begin < end->second))
      return false;
    end->second = group.begin + group.count;
  }
  return true;
}

const RaggedPlan::GroupPlan &RaggedPlan::productOf(int64_t rows) {
  constexpr size_t maxProducts = 4096;
  if (auto known = products.find(rows); known != products.end())
    return known->second;
  if (products.size() >= maxProducts)
    products.clear();
  return products.try_emplace(rows, planGroup(rows)).first->second;
}

} // namespace shoal::rt

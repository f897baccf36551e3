// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RaggedPlan.h"

#include <map>

namespace shoal::rt {

RaggedPlan::RaggedPlan(const RaggedEinsumCall &call, const ProductModel &model)
    : boundType(call.boundType), sizes(call.sizes), rowLetter(call.rowLetter),
      terms(call.terms), model(model) {
  part.types = {{call.typeIn, call.typeIn}, call.typeOut};
  part.sizes = sizes;
  for (size_t t = 0; t < numTensors; ++t)
    strides[t] = letterStrides(part, terms[t]);
  for (int64_t letter : terms[Out])
    resultElements *= sizes[letter];
  for (int64_t letter : terms[Bounds])
    part.sizes[letter] = 1;
  part.operands = {terms[In0], terms[In1]};
  part.result = terms[Out];
  auto isIndexed = [&](int64_t letter) { return isInBounds(letter); };
  for (Letters *term : {&part.operands[0], &part.operands[1], &part.result})
    std::erase_if(*term, isIndexed);
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

const ProductPlan &RaggedPlan::productOf(int64_t rows) {
  constexpr size_t maxProducts = 4096;
  if (auto known = products.find(rows); known != products.end())
    return known->second;
  if (products.size() >= maxProducts)
    products.clear();
  part.sizes[rowLetter] = rows;
  return products
      .try_emplace(rows, planStrided(part, {strides[In0], strides[In1]}, model))
      .first->second;
}

Loops<2> RaggedPlan::partLoops(int64_t rows) const {
  Loops<2> loops;
  int64_t dense = 1;
  for (size_t d = part.result.size(); d-- > 0;) {
    int64_t letter = part.result[d];
    int64_t size = letter == rowLetter ? rows : sizes[letter];
    loops.push_back({size, {dense, strides[Out][letter]}});
    dense *= size;
  }
  return simplify(loops, /*leader=*/1);
}

} // namespace shoal::rt

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/RollPlan.h"
#include "shoal/Sharding/RowMap.h"
#include <algorithm>
#include <cassert>

using namespace shoal;

RollPlan shoal::planRoll(int64_t shift, int64_t size, int64_t shards) {
  assert(0 <= shift && shift < size && "a roll goes round less than once");
  using Form = RollPlan::Form;
  if (shards == 1 || shift == 0)
    return {Form::Stay, 0};
  int64_t block = shardSize(size, shards), back = size - shift;
  if (size % shards == 0)
    return {Form::Parts, std::min({block, shift, back})};
  // Empty where there are fewer blocks than devices.
  int64_t last = shardRows(size, shards, shards - 1).size();
  if (std::min(shift, back) <= last)
    return shift <= back ? RollPlan{Form::LastRowsOn, shift}
                         : RollPlan{Form::FirstRowsBack, back};
  RollPlan plan{Form::Windows, 0};
  for (int64_t low : {-shift, back})
    plan.rows += lackingRows(windowOf({1, low, low, 1}, block), size, shards);
  return plan;
}

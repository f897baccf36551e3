// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Search.h"

using namespace shoal;
using namespace shoal::assignment;

void assignment::descend(Plan &plan, unsigned maxSweeps) {
  unsigned numOps = plan.getTables().problem.ops.size();
  // An op whose values no one touched since it was last looked at gains
  // nothing now either.
  std::vector<bool> isSettled(numOps, false);
  for (unsigned sweep = 0; sweep < maxSweeps; ++sweep) {
    bool changed = false;
    for (unsigned i = 0; i < numOps; ++i) {
      unsigned op = sweep % 2 == 0 ? i : numOps - 1 - i;
      if (isSettled[op] || plan.getTables().classOf(op).isFixed())
        continue;
      isSettled[op] = true;
      std::optional<ChoiceIndex> next = plan.findBestChange(op);
      if (!next)
        continue;
      plan.move(op, *next);
      changed = true;
      for (unsigned value : plan.valuesOf(op))
        for (unsigned other : plan.opsOf(value))
          isSettled[other] = false;
    }
    if (!changed)
      return;
  }
}

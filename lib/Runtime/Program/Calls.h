// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls that the runtime answers, and what it keeps of them.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_CALLS_H
#define SHOAL_LIB_RUNTIME_PROGRAM_CALLS_H

#include "shoal/Calls/AllCalls.h"
#include "shoal/Runtime/ABI.h"

#include <unordered_map>

namespace shoal::rt {

using namespace calls;

/// What has been made of the descriptors of one kind of call.
template <typename Plan>
class PlanCache {
public:
  /// The plan for `desc`, made by make(call) at first use of its address.
  template <typename Call, typename Make>
  Plan &get(const int64_t *desc, Make &&make) {
    auto entry = plans.find(desc);
    // The address says it all for a program; a test may reuse one.
    if (entry == plans.end() || !entry->second.isOf(desc)) {
      const int64_t *end = desc;
      Call call = readWords<Call>(end);
      entry =
          plans.insert_or_assign(desc, Entry{make(call), {desc, end}}).first;
    }
    return entry->second.plan;
  }

private:
  struct Entry {
    Plan plan;
    /// The descriptor. One is never the beginning of another, so that the first
    /// difference comes before the end of either.
    std::vector<int64_t> words;

    bool isOf(const int64_t *desc) const {
      return std::equal(words.begin(), words.end(), desc);
    }
  };

  std::unordered_map<const int64_t *, Entry> plans;
};

/// The call that `desc` describes, read once.
template <typename Call>
const Call &lookUp(const int64_t *desc) {
  static PlanCache<Call> calls;
  return calls.template get<Call>(desc, [](const Call &call) { return call; });
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_CALLS_H

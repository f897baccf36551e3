// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recorder.h"

namespace shoal::rt {

std::string_view activityName(Activity activity) {
  constexpr std::array<std::string_view, numActivities> names = {
      "all_gather",    "all_reduce",        "reduce_scatter",
      "all_to_all",    "ragged_all_to_all", "collective_permute",
      "halo_exchange", "exchange",          "einsum",
      "step"};
  return names[static_cast<size_t>(activity)];
}

Recorder &Recorder::get() {
  static Recorder recorder;
  return recorder;
}

void Recorder::reset(bool keepEvents) {
  totals = {};
  tracing = keepEvents;
  trace.clear();
}

void Recorder::add(const Event &event) {
  Counters &counters = totals[static_cast<size_t>(event.activity)];
  ++counters.calls;
  counters.bytes += event.bytes;
  counters.seconds +=
      std::chrono::duration<double>(event.end - event.begin).count();
  if (tracing)
    trace.push_back(event);
}

} // namespace shoal::rt

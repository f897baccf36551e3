// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FlightRecorder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace shoal::rt {

static constexpr auto relaxed = std::memory_order_relaxed;

static std::string_view kindOf(Place place) {
  if (place == Place::Agreement)
    return "agreement";
  return place == Place::Caller ? "mpi4py"
                                : activityName(static_cast<Activity>(place));
}

static nlohmann::json entryOf(const RecordedCollective &entry,
                              const Program &program) {
  Place place = entry.place.load(relaxed);
  int64_t id = entry.id.load(relaxed);
  bool isProgram = place < Place::Agreement;
  bool isKnown = isProgram && id >= 0 &&
                 static_cast<size_t>(id) < program.collectives.size();
  return {{"step", entry.step.load(relaxed)},
          {"kind", kindOf(place)},
          {"loc", isKnown ? program.collectives[id].loc : std::string()},
          {"begin_ns", entry.begin.load(relaxed)},
          {"end_ns", entry.end.load(relaxed)}};
}

void writeFlightRecord(std::span<const RankProgress> ranks,
                       const Program &program) {
  const char *path = std::getenv("SHOAL_FLIGHT_RECORDER");
  std::FILE *file = path && *path ? std::fopen(path, "w") : nullptr;
  if (!file)
    return;
  for (const RankProgress &rank : ranks) {
    uint64_t end = rank.recorded.load(relaxed);
    uint64_t begin = end - std::min<uint64_t>(end, RankProgress::kept);
    for (uint64_t i = begin; i < end; ++i) {
      nlohmann::json line = entryOf(rank.last[i % RankProgress::kept], program);
      line["rank"] = rank.rank.load(relaxed);
      line["number"] = i;
      std::fprintf(file, "%s\n", line.dump().c_str());
    }
  }
  std::fclose(file);
}

} // namespace shoal::rt

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ThreadCount.h"
#include "../Run/Options.h"

#include <cstdlib>
#include <cstring>
#include <sched.h>

namespace shoal::rt {

CpuMask CpuMask::ofProcess() {
  CpuMask mask;
  // The system's mask is such an array of words, of any length.
  if (sched_getaffinity(0, sizeof(mask.words),
                        reinterpret_cast<cpu_set_t *>(mask.words.data())) != 0)
    mask.add(0);
  return mask;
}

int shareOf(const CpuMask &mine, std::span<const CpuMask> node) {
  double share = 0;
  for (int cpu = 0; cpu < CpuMask::size; ++cpu) {
    if (!mine.has(cpu))
      continue;
    int users = 0;
    for (const CpuMask &mask : node)
      users += mask.has(cpu);
    share += 1.0 / users;
  }
  // A sum of thirds may be a little less than a whole.
  return std::max(1, static_cast<int>(share + 1e-6));
}

static std::vector<CpuMask> gatherMasks(World &world, const CpuMask &mine) {
  std::string all =
      world.gatherOnNode({reinterpret_cast<const char *>(&mine), sizeof(mine)});
  std::vector<CpuMask> masks(all.size() / sizeof(CpuMask));
  std::memcpy(masks.data(), all.data(), all.size());
  return masks;
}

support::Result<int> countThreads(World &world, std::optional<int64_t> asked) {
  CpuMask mine = CpuMask::ofProcess();
  // Also where this rank does not need it: another one may.
  std::vector<CpuMask> node = gatherMasks(world, mine);
  if (asked)
    return static_cast<int>(*asked);
  const char *variable = std::getenv("SHOAL_NUM_THREADS");
  if (!variable || !*variable)
    return shareOf(mine, node);
  Result<int64_t> number = parseThreads(variable);
  if (!number)
    return support::Error{"SHOAL_NUM_THREADS: " + number.error().message};
  return static_cast<int>(*number);
}

} // namespace shoal::rt

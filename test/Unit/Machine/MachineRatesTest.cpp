// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rates by which passes choose (Machine.h) are those of the machines whose
// files are shipped: who changes one looks at the other. Only ratios matter to
// passes, so that a factor of two is near enough.

#include "shoal/Machine/ClusterFile.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Machine/StepTime.h"
#include <gtest/gtest.h>

using namespace shoal;

static Cluster readShipped(const std::string &name) {
  support::Result<Cluster> cluster =
      readCluster(std::string(SHOAL_MACHINES) + "/" + name + ".toml");
  EXPECT_TRUE(cluster) << cluster.error().message;
  return *cluster;
}

static void expectNear(double rate, double shipped, double factor,
                       const char *what) {
  EXPECT_LE(rate, shipped * factor) << what;
  EXPECT_GE(rate, shipped / factor) << what;
}

static void expectChip(const Machine &machine, const Chip &chip) {
  double reached = chip.products.max;
  expectNear(machine.flops, peakOf(chip, "f32") * reached, 2, "flops");
  expectNear(machine.narrowFlops, peakOf(chip, "bf16") * reached, 2,
             "narrow flops");
  expectNear(machine.memoryBytes, chip.memoryBandwidth * chip.memoryEfficiency,
             2, "bytes of memory");
  expectNear(machine.indexedRowSeconds, chip.indexedRow, 2, "rows by index");
}

/// What a group of all devices of a level sends a second, large messages.
static double linkBytesOf(const Cluster &cluster, CollectiveKind kind) {
  GroupCounts counts(cluster.levels.size(), 1);
  counts[0] = cluster.levels[0].size;
  int64_t bytes = int64_t(1) << 30;
  return bytes / inSeconds(priceCollective(cluster, kind, counts, bytes).time);
}

TEST(MachineRatesTest, TheCpuIsTheBox) {
  Cluster box = readShipped("box");
  expectChip(cpuMachine, box.chip);
  expectNear(cpuMachine.callSeconds, box.chip.kernel, 2, "calls");
  expectNear(cpuMachine.linkBytes, linkBytesOf(box, CollectiveKind::AllToAll),
             2, "link");
}

TEST(MachineRatesTest, TheGpuIsAnH100) {
  Cluster island = readShipped("dgx-h100");
  expectChip(gpuMachine, island.chip);
  expectNear(gpuMachine.callSeconds,
             std::max(island.chip.kernel, island.chip.launch), 2, "calls");
  double link = linkBytesOf(island, CollectiveKind::AllToAll);
  expectNear(gpuMachine.linkBytes, link, 2, "link");
  // Products of bf16 over NVLink.
  expectNear(gpuMachine.flopsPerLinkByte,
             peakOf(island.chip, "bf16") * island.chip.products.max / link, 1.5,
             "machine balance");
}

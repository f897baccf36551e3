// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Machine/StepTime.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace shoal;

double shoal::peakOf(const Chip &chip, llvm::StringRef type) {
  if (auto found = chip.flops.find(type.str()); found != chip.flops.end())
    return found->second;
  if (auto found = chip.flops.find("f32"); found != chip.flops.end())
    return found->second;
  return llvm::min_element(chip.flops, llvm::less_second())->second;
}

static double efficiencyOf(const ProductCurve &curve, ProductShape shape) {
  double efficiency = curve.max;
  for (auto [size, half, tile] : llvm::zip(
           std::array{shape.m, shape.n, shape.k}, curve.half, curve.tile)) {
    double whole = std::ceil(size / tile) * tile;
    efficiency *= size / (size + half) * size / whole;
  }
  return efficiency;
}

static double memorySeconds(const Chip &chip, int64_t bytes) {
  double rate = chip.memoryBandwidth * chip.memoryEfficiency;
  if (!chip.memoryShare.empty())
    rate *= valueAt(chip.memoryShare, static_cast<double>(bytes));
  return bytes / rate;
}

/// The longest of what runs at once, behind the start of a kernel.
static Price longestOf(const Chip &chip, double flops, double memory) {
  double work = std::max(flops, memory);
  Bound bound = flops > memory ? Bound::Flops : Bound::Memory;
  return {std::llround((chip.kernel + work) * 1e12),
          work > chip.kernel ? bound : Bound::Launch, -1};
}

Price shoal::priceProduct(const Chip &chip, llvm::StringRef type,
                          ProductShape shape, int64_t bytes, double share) {
  double operations = 2.0 * share * shape.batch * shape.m * shape.n * shape.k;
  double efficiency = efficiencyOf(chip.products, shape) *
                      (shape.hasGroups ? chip.groupEfficiency : 1);
  double seconds =
      operations > 0 ? operations / (peakOf(chip, type) * efficiency) : 0;
  // Of a row or a column, as of a sum of two rows by weights, no more than on
  // the units of all other kernels.
  if (chip.elementwiseFlops > 0 && std::min(shape.m, shape.n) == 1)
    seconds = std::min(seconds, operations / 2 / chip.elementwiseFlops);
  return longestOf(chip, seconds, memorySeconds(chip, bytes));
}

Price shoal::priceAttention(const Chip &chip, llvm::StringRef type,
                            double terms, int64_t bytes) {
  double seconds = 2 * terms / (peakOf(chip, type) * chip.attentionEfficiency);
  return longestOf(chip, seconds, memorySeconds(chip, bytes));
}

Price shoal::priceKernel(const Chip &chip, int64_t bytes, double operations,
                         int64_t indexedRows) {
  double seconds =
      chip.elementwiseFlops > 0 ? operations / chip.elementwiseFlops : 0;
  double memory = memorySeconds(chip, bytes) + indexedRows * chip.indexedRow;
  return longestOf(chip, seconds, memory);
}

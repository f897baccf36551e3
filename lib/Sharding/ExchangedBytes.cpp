// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplitParts.h"
#include "shoal/Sharding/FactorRule.h"
#include "shoal/Sharding/RollPlan.h"
#include "shoal/Sharding/SlabExchange.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <utility>

using namespace shoal;

namespace {
/// Sizes of what devices send inside an op.
class ExchangePrice {
public:
  ExchangePrice(const FactorRule &rule, const FactorSharding &choice,
                const Mesh &mesh)
      : rule(rule), choice(choice), mesh(mesh) {}

  double windows(unsigned operand, const TensorSize &size) const;
  double gathers(unsigned result, const TensorSize &size) const;
  double reductions(llvm::ArrayRef<TensorSize> results) const;

private:
  int64_t shardsOf(llvm::ArrayRef<unsigned> dim) const {
    int64_t shards = 1;
    for (unsigned factor : dim)
      shards *= mesh.sizeOf(choice.axes[factor]);
    return shards;
  }
  llvm::SmallVector<int64_t> blockOf(const TensorSize &size,
                                     const DimFactors &dims) const {
    llvm::SmallVector<int64_t> block;
    for (auto [n, dim] : llvm::zip_equal(size.shape, dims))
      block.push_back(shardSize(n, shardsOf(dim)));
    return block;
  }
  static double product(llvm::ArrayRef<int64_t> sizes) {
    double result = 1;
    for (int64_t size : sizes)
      result *= size;
    return result;
  }

  const FactorRule &rule;
  const FactorSharding &choice;
  const Mesh &mesh;
};
} // namespace

/// Dimensions are fetched one after the other: what the first has brought is
/// passed on by the next. Blocks that are mirrored whole along several go once.
double ExchangePrice::windows(unsigned operand,
                              const TensorSize &tensor) const {
  const DimFactors &dims = rule.operands[operand];
  llvm::SmallVector<int64_t> block = blockOf(tensor, dims);
  double bytes = 0;
  bool isMirrored = false;
  for (const FactorRule::Window &window : rule.windows) {
    if (window.operand != operand || dims[window.dim].empty())
      continue;
    int64_t shards = shardsOf(dims[window.dim]);
    if (shards == 1)
      continue;
    int64_t unit = window.operandUnit, own = block[window.dim] * unit;
    // Axes of minor factors cut each row of the major one in even parts.
    int64_t major = mesh.sizeOf(choice.axes[dims[window.dim].front()]);
    RowWindow rows = windowOf(window.map, shardSize(window.size, major) *
                                              window.unit / (shards / major));
    int64_t size =
        window.operandUnit == 1 ? tensor.shape[window.dim] : own * shards;
    double rest = product(block) / std::max<int64_t>(own, 1);
    int64_t lacking = window.map.wraps
                          ? planRoll(-window.map.low, size, shards).rows
                          : lackingRows(rows, size, shards);
    bool mirrors = window.map.scale < 0 && size % shards == 0;
    if (!mirrors || !std::exchange(isMirrored, true))
      bytes += rest * lacking * tensor.elementBytes;
    block[window.dim] = llvm::divideCeil(rows.rows, unit);
  }
  return bytes;
}

double ExchangePrice::gathers(unsigned result, const TensorSize &size) const {
  const DimFactors &dims = rule.results[result];
  llvm::SmallVector<int64_t> block = blockOf(size, dims);
  int64_t group = 1;
  for (const FactorRule::Gather &gather : rule.gathers) {
    if (gather.result != result)
      continue;
    group *= mesh.sizeOf(choice.axes[gather.factor]);
    for (auto [rows, dim] : llvm::zip_equal(block, dims))
      if (llvm::is_contained(dim, gather.factor))
        rows = 1;
  }
  return slabElementsSent(block, group) * size.elementBytes;
}

/// Devices that split it combine what they have at once, as no addends are left
/// of a maximum or a product.
static bool isCombined(const Factor &factor) {
  return factor.kind == FactorKind::Reduction && !isSum(factor);
}

double ExchangePrice::reductions(llvm::ArrayRef<TensorSize> results) const {
  int64_t group = 1;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, choice.axes))
    if (isCombined(factor))
      group *= mesh.sizeOf(axes);
  double bytes = 0;
  for (auto [size, dims] : llvm::zip_equal(results, rule.results))
    bytes += 2.0 * (group - 1) / group * product(blockOf(size, dims)) *
             size.elementBytes;
  return bytes;
}

/// Whether any choice of the op sends anything by itself.
static bool exchanges(const FactorRule &rule) {
  return !rule.windows.empty() || !rule.gathers.empty() ||
         llvm::any_of(rule.factors, isCombined);
}

double shoal::exchangedBytes(const FactorRule &rule,
                             const FactorSharding &choice,
                             llvm::ArrayRef<TensorSize> operands,
                             llvm::ArrayRef<TensorSize> results,
                             const Mesh &mesh) {
  if (!exchanges(rule))
    return 0;
  ExchangePrice price(rule, choice, mesh);
  double bytes = price.reductions(results);
  for (auto [i, size] : llvm::enumerate(operands))
    bytes += price.windows(i, size);
  for (auto [i, size] : llvm::enumerate(results))
    bytes += price.gathers(i, size);
  return bytes;
}

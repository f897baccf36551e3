// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/FactorRule.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

FactorRuleBuilder::FactorRuleBuilder(llvm::ArrayRef<int64_t> operandRanks,
                                     llvm::ArrayRef<int64_t> resultRanks) {
  for (int64_t rank : operandRanks)
    rule.operands.emplace_back(rank);
  for (int64_t rank : resultRanks)
    rule.results.emplace_back(rank);
}

FactorRuleBuilder &
FactorRuleBuilder::addFactor(int64_t size, llvm::ArrayRef<int64_t> operandDims,
                             llvm::ArrayRef<int64_t> resultDims,
                             FactorKind kind,
                             std::optional<ReduceKind> reduction) {
  unsigned id = rule.factors.size();
  rule.factors.push_back({size, kind, reduction, /*needsEvenSplit=*/false});
  for (auto [dims, dim] : llvm::zip_equal(rule.operands, operandDims))
    if (dim >= 0)
      dims[dim].push_back(id);
  for (auto [dims, dim] : llvm::zip_equal(rule.results, resultDims))
    if (dim >= 0)
      dims[dim].push_back(id);
  return *this;
}

FactorRuleBuilder &
FactorRuleBuilder::linearIn(llvm::ArrayRef<unsigned> operands) {
  rule.linearIn.emplace_back(operands.begin(), operands.end());
  return *this;
}

FactorRuleBuilder &FactorRuleBuilder::window(unsigned operand, unsigned dim,
                                             RowMap map) {
  unsigned factor = rule.operands[operand][dim].front();
  rule.windows.push_back({operand, dim, map, rule.factors[factor].size});
  return *this;
}

FactorRuleBuilder &FactorRuleBuilder::gather(unsigned factor, unsigned result) {
  rule.gathers.push_back({factor, result});
  return *this;
}

FactorRuleBuilder &FactorRuleBuilder::writes(unsigned operand) {
  rule.written = operand;
  return *this;
}

FactorRuleBuilder &FactorRuleBuilder::flops(double flops) {
  rule.flops = flops;
  return *this;
}

FactorRule FactorRuleBuilder::elementwise(llvm::ArrayRef<int64_t> shape,
                                          unsigned numOperands,
                                          unsigned numResults) {
  llvm::SmallVector<int64_t> operandRanks(numOperands, shape.size());
  llvm::SmallVector<int64_t> resultRanks(numResults, shape.size());
  FactorRuleBuilder builder(operandRanks, resultRanks);
  for (auto [dim, size] : llvm::enumerate(shape))
    builder.addFactor(size, llvm::SmallVector<int64_t>(numOperands, dim),
                      llvm::SmallVector<int64_t>(numResults, dim));
  return builder.build();
}

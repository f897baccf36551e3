// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FilledRows.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/Dialect/Shoal/IR/AllGroups.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

using namespace mlir;
using namespace shoal;

/// Programs are large, and rows are made near where they are multiplied.
static constexpr size_t kMostValues = 1000;

/// What a value is made of: operands of the op that makes it, or, of one that
/// an op with regions passes through, as the rows that a loop keeps for the
/// backward pass, what it may be.
static SmallVector<Value> listSources(Value value) {
  Operation *maker = value.getDefiningOp();
  Operation *owner =
      maker ? maker : cast<BlockArgument>(value).getOwner()->getParentOp();
  if (auto joining = dyn_cast<JoinOpInterface>(owner))
    for (const Join &join : joining.getJoins())
      if (llvm::is_contained(join.values, value))
        return llvm::map_to_vector(
            join.sources, [](OpOperand *source) { return source->get(); });
  return maker ? llvm::to_vector(maker->getOperands()) : SmallVector<Value>();
}

//===----------------------------------------------------------------------===//
// Rows that come
//===----------------------------------------------------------------------===//

/// Whether a dimension has that size.
static bool hasRows(Value value, int64_t rows) {
  auto shaped = dyn_cast<ShapedType>(value.getType());
  return shaped && llvm::is_contained(shaped.getShape(), rows);
}

/// Of so many rows of the op, those that come.
static double comingPart(Operation *op, int64_t rows) {
  llvm::SetVector<Value> above;
  auto add = [&](ValueRange values) {
    above.insert_range(llvm::make_filter_range(
        values, [=](Value value) { return hasRows(value, rows); }));
  };
  add(op->getOperands());
  for (size_t i = 0; i < above.size() && i < kMostValues; ++i) {
    auto sent = above[i].getDefiningOp<spmd::CollectiveOpInterface>();
    if (std::optional<int64_t> mean =
            sent ? sent.countMeanRows() : std::nullopt)
      return std::min(1.0, double(*mean) / rows);
    add(listSources(above[i]));
  }
  return 1;
}

//===----------------------------------------------------------------------===//
// Groups that are multiplied
//===----------------------------------------------------------------------===//

/// Along how many elements a value is a running sum; nothing of others.
static std::optional<int64_t> scannedSize(Value value) {
  auto maker = value.getDefiningOp<FactorRuleOpInterface>();
  if (!maker)
    return std::nullopt;
  FactorRule rule = maker.getFactorRule();
  unsigned result = cast<OpResult>(value).getResultNumber();
  for (const FactorRule::Gather &gather : rule.gathers)
    if (gather.result == result)
      return rule.factors[gather.factor].size;
  return std::nullopt;
}

static SmallVector<Value> listAlike(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  SmallVector<Value> sources = listSources(value);
  llvm::erase_if(sources, [=](Value source) {
    return !isa<RankedTensorType>(source.getType()) ||
           getElementTypeOrSelf(source.getType()) != type;
  });
  return sources;
}

/// What a value is a sum of, element by element; nothing of others.
static SmallVector<Value> listAddends(Value value) {
  auto maker = value.getDefiningOp<FactorRuleOpInterface>();
  SmallVector<Value> addends = listAlike(value);
  if (!maker || addends.size() < 2)
    return {};
  FactorRule rule = maker.getFactorRule();
  bool isSum = rule.isParallel() && llvm::any_of(rule.linearIn, [&](auto &set) {
                 return set.size() == addends.size();
               });
  return isSum ? addends : SmallVector<Value>();
}

/// What a value is a part of, or the same in another shape or place: the only
/// one of its type that its op is given, which computes nothing, or any that it
/// may be.
static SmallVector<Value> listWholes(Value value) {
  SmallVector<Value> sources = listAlike(value);
  Operation *maker = value.getDefiningOp();
  if (!maker || isa<JoinOpInterface>(maker))
    return sources;
  auto computes = dyn_cast<FactorRuleOpInterface>(maker);
  bool isMoved = !computes || computes.getFactorRule().flops == 0;
  return isMoved && sources.size() == 1 ? sources : SmallVector<Value>();
}

/// How many groups follow each other by a running sum of their sizes, of which
/// `ends` are a part. Of a sum that is split, a device adds the running sum of
/// its own groups to that of the devices before it: there are as many as of
/// both together.
static std::optional<int64_t>
countGroups(Value ends, llvm::SetVector<Value> &seen, bool isAddend = false) {
  if (seen.size() >= kMostValues || !seen.insert(ends))
    return std::nullopt;
  if (std::optional<int64_t> size = scannedSize(ends))
    return size;
  SmallVector<Value> addends =
      isAddend ? SmallVector<Value>() : listAddends(ends);
  std::optional<int64_t> product;
  for (Value addend : addends)
    if (std::optional<int64_t> groups = countGroups(addend, seen, true))
      product = product.value_or(1) * *groups;
  if (!addends.empty())
    return product;
  for (Value whole : listWholes(ends))
    if (std::optional<int64_t> groups = countGroups(whole, seen, isAddend))
      return groups;
  return std::nullopt;
}

double shoal::filledPart(Operation *op) {
  auto einsum = dyn_cast<RaggedEinsumOp>(op);
  if (!einsum)
    return 1;
  int64_t own = cast<ShapedType>(einsum.getEnds().getType()).getShape().back();
  // Of groups that are split the op's own rule knows how many there are.
  if (auto all = op->getAttrOfType<IntegerAttr>(kAllGroupsAttr))
    own = std::max(own, all.getInt());
  llvm::SetVector<Value> seen;
  std::optional<int64_t> groups = countGroups(einsum.getEnds(), seen);
  double part = groups && *groups > own ? double(own) / *groups : 1;
  auto [term, rest] = einsum.getSpec().split(',');
  auto lhs = cast<ShapedType>(einsum.getLhs().getType());
  size_t dim = term.find(einsum.getRows());
  if (dim >= static_cast<size_t>(lhs.getRank()))
    return part; // rows of the other operand alone
  return part * comingPart(op, lhs.getDimSize(dim));
}

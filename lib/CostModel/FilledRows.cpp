// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FilledRows.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
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
    if (auto sent = above[i].getDefiningOp<spmd::RaggedAllToAllOp>()) {
      auto input = cast<ShapedType>(sent.getInput().getType());
      return std::min(1.0, double(input.getDimSize(0)) / rows);
    }
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

/// What bounds are a part of, or the same in another shape: the only value of
/// their type that their op is given, or any that they may be.
static SmallVector<Value> listWholes(Value bounds) {
  SmallVector<Value> sources = listSources(bounds);
  Type type = getElementTypeOrSelf(bounds.getType());
  llvm::erase_if(sources, [=](Value source) {
    return !isa<RankedTensorType>(source.getType()) ||
           getElementTypeOrSelf(source.getType()) != type;
  });
  bool isJoined =
      !bounds.getDefiningOp() || isa<JoinOpInterface>(bounds.getDefiningOp());
  return sources.size() == 1 || isJoined ? sources : SmallVector<Value>();
}

/// How many groups the rows are divided among, by sums of the groups' sizes,
/// of which both bounds are parts; as many as the op has where that is not
/// seen.
static int64_t countGroups(RaggedEinsumOp op, int64_t own) {
  llvm::SetVector<Value> above;
  above.insert(op.getEnds());
  above.insert(op.getBegins());
  for (size_t i = 0; i < above.size() && i < kMostValues; ++i) {
    if (std::optional<int64_t> groups = scannedSize(above[i]))
      return std::max(*groups, own);
    above.insert_range(listWholes(above[i]));
  }
  return own;
}

double shoal::filledPart(Operation *op) {
  auto einsum = dyn_cast<RaggedEinsumOp>(op);
  if (!einsum)
    return 1;
  int64_t own = cast<ShapedType>(einsum.getEnds().getType()).getShape().back();
  double part = own > 0 ? double(own) / countGroups(einsum, own) : 1;
  auto [term, rest] = einsum.getSpec().split(',');
  auto lhs = cast<ShapedType>(einsum.getLhs().getType());
  size_t dim = term.find(einsum.getRows());
  if (dim >= static_cast<size_t>(lhs.getRank()))
    return part; // rows of the other operand alone
  return part * comingPart(op, lhs.getDimSize(dim));
}

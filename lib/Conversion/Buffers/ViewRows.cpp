// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ViewRows.h"
#include "../Utils/HeldValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace shoal;

/// Rows that are viewed begin at multiples of so many bytes, as buffers do.
static constexpr int64_t kAlignment = 64;

/// The first row that the map reads of each dimension, if it reads a dense
/// part: one row of the first dimensions, some of the next one, all of the
/// others.
static std::optional<SmallVector<int64_t>>
findDensePart(AffineMap map, RankedTensorType whole, RankedTensorType part) {
  if (map.getNumDims() != map.getNumResults() ||
      whole.getRank() != part.getRank())
    return std::nullopt;
  SmallVector<int64_t> starts;
  bool isWhole = false;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    AffineExpr loop = getAffineDimExpr(dim, map.getContext());
    auto start = dyn_cast<AffineConstantExpr>(
        part.getDimSize(dim) == 1
            ? expr.replace(loop, loop - loop)
            : simplifyAffineExpr(expr - loop, map.getNumDims(), 0));
    bool hasAll = part.getDimSize(dim) == whole.getDimSize(dim);
    if (!start || (isWhole && !hasAll))
      return std::nullopt;
    starts.push_back(start.getValue());
    isWhole |= part.getDimSize(dim) != 1;
  }
  return starts;
}

void shoal::viewRows(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return;
  auto argument = dyn_cast<BlockArgument>(op.getInputs()[0]);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
      isDonated(argument) ||
      !op.getIndexingMapMatchingResult(op->getResult(0)).isIdentity())
    return;
  auto whole = cast<RankedTensorType>(argument.getType());
  auto part = cast<RankedTensorType>(op->getResult(0).getType());
  auto starts = findDensePart(op.getIndexingMapsArray()[0], whole, part);
  if (!starts || part.getNumElements() == 0)
    return;
  int64_t first = 0;
  for (auto [start, size] : llvm::zip_equal(*starts, whole.getShape()))
    first = first * size + start;
  if (first * int64_t(part.getElementTypeBitWidth()) % (kAlignment * 8) != 0)
    return;
  OpBuilder builder(op);
  SmallVector<int64_t> ones(part.getRank(), 1);
  op->replaceAllUsesWith(tensor::ExtractSliceOp::create(
      builder, op.getLoc(), part, argument, ValueRange(), ValueRange(),
      ValueRange(), *starts, part.getShape(), ones));
  op->erase();
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TensorReads.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

SmallVector<Value> shoal::extractedTensors(linalg::GenericOp op) {
  SmallVector<Value> tensors;
  op.getBody()->walk([&](tensor::ExtractOp extract) {
    tensors.push_back(extract.getTensor());
  });
  return tensors;
}

static bool isView(Operation *op) {
  return isa_and_present<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                         tensor::ExtractSliceOp, tensor::CastOp>(op);
}

static bool onlyReads(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto op = dyn_cast<linalg::LinalgOp>(user))
    return !op.isDpsInit(&use);
  if (isa<rt::RuntimeCallOpInterface>(user))
    return !cast<DestinationStyleOpInterface>(user).isDpsInit(&use);
  return isa<tensor::ExtractOp>(user);
}

static bool isWrittenBetween(Value tensor, Operation *first, Operation *last) {
  return llvm::any_of(tensor.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isView(user))
      return isWrittenBetween(user->getResult(0), first, last);
    if (onlyReads(use))
      return false;
    Operation *around = first->getBlock()->findAncestorOpInBlock(*user);
    return around && first->isBeforeInBlock(around) &&
           around->isBeforeInBlock(last);
  });
}

bool shoal::mayBeWrittenBetween(Value tensor, Operation *first,
                                Operation *last) {
  while (isView(tensor.getDefiningOp()))
    tensor = tensor.getDefiningOp()->getOperand(0);
  return isWrittenBetween(tensor, first, last);
}

/// The last loop of the map's results that has more than one iteration.
static std::optional<unsigned> lastLoop(AffineMap map,
                                        ArrayRef<int64_t> ranges) {
  for (AffineExpr expr : llvm::reverse(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && ranges[dim.getPosition()] != 1)
      return dim.getPosition();
  return std::nullopt;
}

bool shoal::keepsLastDim(linalg::GenericOp reader, AffineMap map) {
  SmallVector<int64_t> ranges = reader.getStaticLoopRanges();
  std::optional<unsigned> loop = lastLoop(map, ranges);
  if (!loop ||
      reader.getIteratorTypesArray()[*loop] == utils::IteratorType::reduction)
    return true;
  return llvm::all_of(reader.getDpsInitsMutable(), [&](OpOperand &init) {
    return lastLoop(reader.getMatchingIndexingMap(&init), ranges) == loop;
  });
}

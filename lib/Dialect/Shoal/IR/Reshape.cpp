// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ReshapeOps.cpp.inc"

LogicalResult ReshapeOp::verify() {
  RankedTensorType input = tensorTypeOf(getInput()), result = getType();
  if (input.getNumElements() != result.getNumElements()) // (C1)
    return emitOpError() << "result 0: expected " << input.getNumElements()
                         << " elements, as operand 0 has, but got "
                         << result.getNumElements();
  return verifyElementType(*this, "result 0", getResult(),
                           input.getElementType());
}

/// Whether it adds dimensions of one row, and no more.
static bool onlyAddsUnitDims(BroadcastInDimOp op) {
  return llvm::is_sorted(op.getDims()) &&
         op.getType().getNumElements() ==
             tensorTypeOf(op.getInput()).getNumElements();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getType() == getInput().getType())
    return getInput();
  if (auto inner = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  if (auto inner = getInput().getDefiningOp<BroadcastInDimOp>();
      inner && onlyAddsUnitDims(inner)) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  if (auto elements =
          dyn_cast_if_present<DenseElementsAttr>(adaptor.getInput()))
    return elements.reshape(getType());
  return {};
}

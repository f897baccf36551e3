// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Folders of the ops that move elements without computing with them.

#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

/// The constant of `type` all of whose elements are those of `constant`, where
/// they are all alike. Moving, dropping or repeating them changes nothing.
static OpFoldResult foldSplat(Attribute constant, RankedTensorType type) {
  auto splat = dyn_cast_if_present<SplatElementsAttr>(constant);
  return splat ? splat.resizeSplat(type) : OpFoldResult();
}

static bool isIdentity(ArrayRef<int64_t> dims) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim != static_cast<int64_t>(i))
      return false;
  return true;
}

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor adaptor) {
  if (getType() == getInput().getType() && isIdentity(getDims()))
    return getInput();
  return foldSplat(adaptor.getInput(), getType());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getPermutation()))
    return getInput();
  if (auto inner = getInput().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : getPermutation())
      composed.push_back(inner.getPermutation()[dim]);
    setPermutation(composed);
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return foldSplat(adaptor.getInput(), getType());
}

OpFoldResult IotaOp::fold(FoldAdaptor) {
  if (getType().getDimSize(getDim()) != 1)
    return {};
  Type element = getType().getElementType();
  return DenseElementsAttr::get(getType(),
                                Builder(getContext()).getZeroAttr(element));
}

// A slice that has the operand's shape keeps everything.
OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getType() == getInput().getType())
    return getInput();
  return foldSplat(adaptor.getInput(), getType());
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  auto isZero = [](int64_t count) { return count == 0; };
  bool addsNothing = getType() == getInput().getType() &&
                     llvm::all_of(getLow(), isZero) &&
                     llvm::all_of(getHigh(), isZero);
  return addsNothing ? getInput() : OpFoldResult();
}

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  if (llvm::all_of(getDims(),
                   [&](int64_t d) { return getType().getDimSize(d) <= 1; }))
    return getInput();
  return foldSplat(adaptor.getInput(), getType());
}

OpFoldResult RollOp::fold(FoldAdaptor adaptor) {
  if (getShift() == 0)
    return getInput();
  return foldSplat(adaptor.getInput(), getType());
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs().front() : OpFoldResult();
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Shoal.h"

using namespace mlir;
using namespace shoal;

/// An optional result type that repeats an operand's.
static ParseResult parseSameType(OpAsmParser &, Type &inputType, Type &type) {
  type = inputType;
  return success();
}
static void printSameType(OpAsmPrinter &, Operation *, Type, Type) {}

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ShoalOps.cpp.inc"

void ReplicateOp::getAsmResultNames(OpAsmSetValueNameFn) {}
void SplitOp::getAsmResultNames(OpAsmSetValueNameFn) {}
void ShardOp::getAsmResultNames(OpAsmSetValueNameFn) {}
void ShardingConstraintOp::getAsmResultNames(OpAsmSetValueNameFn) {}
LogicalResult ReplicateOp::verify() { return success(); }
LogicalResult SplitOp::verify() { return success(); }
LogicalResult ShardOp::verify() { return success(); }
LogicalResult ShardingConstraintOp::verify() { return success(); }
LogicalResult ReshardOp::verify() { return success(); }
LogicalResult EinsumOp::verify() { return success(); }
LogicalResult ReduceOp::verify() { return success(); }
LogicalResult BroadcastInDimOp::verify() { return success(); }
LogicalResult TransposeOp::verify() { return success(); }
LogicalResult ReshapeOp::verify() { return success(); }
LogicalResult IotaOp::verify() { return success(); }
LogicalResult SliceOp::verify() { return success(); }
LogicalResult PadOp::verify() { return success(); }
LogicalResult ConcatenateOp::verify() { return success(); }
LogicalResult CumulativeOp::verify() { return success(); }
LogicalResult TopKOp::verify() { return success(); }
LogicalResult OneHotOp::verify() { return success(); }
LogicalResult SoftmaxOp::verify() { return success(); }
LogicalResult LayerNormOp::verify() { return success(); }
LogicalResult RandomOp::verify() { return success(); }
LogicalResult TopKGatingOp::verify() { return success(); }
OpFoldResult ReshardOp::fold(FoldAdaptor) { return {}; }
OpFoldResult EinsumOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ReduceOp::fold(FoldAdaptor) { return {}; }
OpFoldResult BroadcastInDimOp::fold(FoldAdaptor) { return {}; }
OpFoldResult TransposeOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ReshapeOp::fold(FoldAdaptor) { return {}; }
OpFoldResult SliceOp::fold(FoldAdaptor) { return {}; }
OpFoldResult PadOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ConcatenateOp::fold(FoldAdaptor) { return {}; }

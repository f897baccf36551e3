// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ReductionOps.cpp.inc"

LogicalResult ReduceOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  ArrayRef<int64_t> dims = getDims();
  if (failed(verifyDistinctDims(*this, "dims", dims, type.getRank()))) // (C1)
    return failure();
  if (!llvm::is_sorted(dims))
    return emitOpError() << "dims: expected ascending order but got [" << dims
                         << "]";
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  if (failed(verifyResult(*this, 0, shape, type.getElementType()))) // (C2)
    return failure();
  return verifyCombiner(*this, getKind(), type.getElementType()); // (C3)
}

LogicalResult CumulativeOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  if (failed(verifyDim(*this, "dim", getDim(), type.getRank()))) // (C1)
    return failure();
  return verifyCombiner(*this, getKind(), type.getElementType()); // (C2)
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() ? getInput() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// reduce_region
//===----------------------------------------------------------------------===//

LogicalResult ReduceRegionOp::verify() {
  if (getInputs().empty()) // (C1)
    return emitOpError() << "expected at least one operand";
  RankedTensorType first = tensorTypeOf(getInputs()[0]);
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (failed(
            verifyShape(*this, "operand " + Twine(i), input, first.getShape())))
      return failure();
  ArrayRef<int64_t> dims = getDims(); // (C2)
  if (failed(verifyDistinctDims(*this, "dims", dims, first.getRank())))
    return failure();
  if (!llvm::is_sorted(dims))
    return emitOpError() << "dims: expected ascending order but got [" << dims
                         << "]";
  if (getNumResults() != getInputs().size()) // (C4)
    return emitOpError() << "expected " << getInputs().size()
                         << " results, one for each operand, but got "
                         << getNumResults();
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(first.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      kept.push_back(size);
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    Type element = tensorTypeOf(input).getElementType();
    Value init = getInits()[i]; // (C3)
    std::string what = ("init " + Twine(i)).str();
    if (failed(verifyShape(*this, what, init, {})) ||
        failed(verifyElementType(*this, what, init, element)) ||
        failed(verifyResult(*this, i, kept, element)))
      return failure();
  }
  return success();
}

/// The types that the combiner takes and yields, as it has them.
static LogicalResult verifyCombinerTypes(ReduceRegionOp op, TypeRange types,
                                         StringRef what, unsigned rounds) {
  unsigned count = op.getInputs().size();
  if (types.size() != rounds * count)
    return op.emitOpError()
           << "expected a combiner of " << rounds * count << ' ' << what
           << "s for " << count << " operands but got " << types.size();
  for (auto [i, type] : llvm::enumerate(types)) {
    Type element = tensorTypeOf(op.getInputs()[i % count]).getElementType();
    if (type != element)
      return op.emitOpError()
             << "combiner " << what << ' ' << i << ": expected " << element
             << ", as operand " << i % count << " has, but got " << type;
  }
  return success();
}

/// Constants and what computes scalars from scalars.
static bool isScalarOp(Operation &op) {
  auto isScalar = [](Type type) { return type.isIntOrFloat(); };
  return (isa<arith::ConstantOp>(op) || op.hasTrait<OpTrait::Elementwise>()) &&
         op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getOperandTypes(), isScalar) &&
         llvm::all_of(op.getResultTypes(), isScalar);
}

LogicalResult ReduceRegionOp::verifyRegions() {
  Block &block = getCombiner().front();
  auto yield = dyn_cast_if_present<YieldOp>(
      block.mightHaveTerminator() ? block.getTerminator() : nullptr);
  if (!yield)
    return emitOpError() << "expected a combiner that ends with shoal.yield";
  if (failed(verifyCombinerTypes(*this, block.getArgumentTypes(), "argument",
                                 2)) || // (C5)
      failed(verifyCombinerTypes(*this, yield.getOperandTypes(), "result", 1)))
    return failure();
  for (Operation &op : block.without_terminator()) // (C6)
    if (!isScalarOp(op)) {
      InFlightDiagnostic error = emitOpError()
                                 << "expected a combiner of constants and "
                                    "elementwise ops on scalars";
      error.attachNote(op.getLoc()) << "'" << op.getName() << "' is none";
      return error;
    }
  return success();
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapedTypeOf.h"
#include "shoal/Calls/FourierScratch.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtFourierOps.cpp.inc"

namespace shoal::rt {

/// (C1), of the inputs or of the outputs.
static LogicalResult verifyHalves(FftOp op, StringRef what, ValueRange values) {
  if (values.size() != 1 && values.size() != 2)
    return op.emitOpError("expected one or two ")
           << what << " but got " << values.size();
  ShapedType first = shapedTypeOf(values[0]),
             last = shapedTypeOf(values.back());
  Type element = first.getElementType();
  bool areAlike =
      first.getShape() == last.getShape() && element == last.getElementType();
  if (!areAlike || (!element.isF32() && !element.isF64()))
    return op.emitOpError("expected ")
           << what << " of one type, of f32 or f64, but got " << first
           << " and " << last;
  return success();
}

LogicalResult FftOp::verify() {
  if (failed(verifyHalves(*this, "inputs", getInputs())) ||
      failed(verifyHalves(*this, "outputs", getOutputs())))
    return failure();
  bool isOfReal = getInputs().size() == 1, isToReal = getOutputs().size() == 1;
  ShapedType in = shapedTypeOf(getInputs()[0]),
             out = shapedTypeOf(getOutputs()[0]);
  if ((isOfReal && isToReal) || in.getElementType() != out.getElementType())
    return emitOpError("expected real numbers on one side at most, and equal "
                       "element types, but got ")
           << in << " and " << out;
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDim(*this, "dim", dim, in.getRank()))) // (C2)
    return failure();
  SmallVector<int64_t> shape(in.getShape());
  if (isOfReal)
    shape[dim] = shape[dim] / 2 + 1;
  bool fits = out.getRank() == in.getRank();
  if (fits && isToReal) {
    fits = shape[dim] == out.getDimSize(dim) / 2 + 1;
    shape[dim] = out.getDimSize(dim);
  }
  if (!fits || out.getShape() != ArrayRef(shape))
    return emitOpError("expected outputs that fit ")
           << in << " along dim " << dim << " but got " << out;
  return success();
}

static calls::FftCall describe(FftOp op) {
  Value first = op.getInputs()[0];
  Value whole = op.getInputs().size() == 1 ? first : op.getOutputs()[0];
  auto dim = static_cast<int64_t>(op.getDim());
  return {encodeType(first.getType()),
          static_cast<int64_t>(op.getInputs().size()),
          static_cast<int64_t>(op.getOutputs().size()),
          op.getInverse(),
          dim,
          shapedTypeOf(whole).getDimSize(dim),
          encodeShape(first)};
}

std::vector<int64_t> FftOp::getDescriptor(const ProgramMeshes &) {
  return encode(describe(*this));
}

int64_t FftOp::getScratchBytes(const ProgramMeshes &, bool) {
  return calls::scratchBytes(describe(*this));
}

/// 2.5 N log2 N pairs of an addition and a multiplication a line.
double FftOp::countTerms() {
  calls::FftCall call = describe(*this);
  double lines = double(shapedTypeOf(getInputs()[0]).getNumElements()) /
                 double(std::max<int64_t>(call.shape[call.axis], 1));
  double length = double(call.length);
  return lines * 2.5 * length * std::log2(std::max(length, 2.0));
}

} // namespace shoal::rt

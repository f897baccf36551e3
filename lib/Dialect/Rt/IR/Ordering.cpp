// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapedTypeOf.h"
#include "shoal/Calls/OrderingScratch.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtOrderingOps.cpp.inc"

namespace shoal::rt {

static LogicalResult verifySameType(Operation *op, Value input, Value output) {
  ShapedType in = shapedTypeOf(input), out = shapedTypeOf(output);
  if (in.getShape() == out.getShape() &&
      in.getElementType() == out.getElementType())
    return success();
  return op->emitOpError("expected an output like the input, ")
         << in << ", but got " << out;
}

//===----------------------------------------------------------------------===//
// cumulative
//===----------------------------------------------------------------------===//

LogicalResult CumulativeOp::verify() {
  if (failed(verifyDim(*this, "dim", static_cast<int64_t>(getDim()),
                       shapedTypeOf(getInput()).getRank()))) // (C1)
    return failure();
  if (failed(verifySameType(*this, getInput(), getOutput()))) // (C2)
    return failure();
  return verifyCombiner(*this, getKind(), // (C3)
                        shapedTypeOf(getInput()).getElementType());
}

std::vector<int64_t> CumulativeOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::CumulativeCall{
      encodeType(getInput().getType()), encodeKind(getKind()),
      encodeShape(getInput()), static_cast<int64_t>(getDim()), getExclusive(),
      getReverse()});
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::verify() {
  ShapedType input = shapedTypeOf(getInput()),
             values = shapedTypeOf(getValues());
  bool fits = input.getRank() > 0 && values.getRank() == input.getRank() &&
              values.getShape().drop_back() == input.getShape().drop_back() &&
              values.getShape().back() <= input.getShape().back() &&
              shapedTypeOf(getIndices()).getShape() == values.getShape();
  if (!fits) // (C1)
    return emitOpError("expected two outputs of the input's shape, ")
           << input << ", but for the last size, but got " << values << " and "
           << getIndices().getType();
  if (values.getElementType() != input.getElementType() ||
      !shapedTypeOf(getIndices()).getElementType().isInteger(32)) // (C2)
    return emitOpError("expected values of ")
           << input.getElementType() << " and indices of i32 but got "
           << values.getElementType() << " and "
           << shapedTypeOf(getIndices()).getElementType();
  if (values.getElementType().isInteger(1)) // (C3)
    return emitOpError("expected numbers but got i1");
  return success();
}

static calls::TopKCall describe(TopKOp op) {
  return {encodeType(op.getInput().getType()), encodeShape(op.getInput()),
          shapedTypeOf(op.getValues()).getShape().back()};
}

std::vector<int64_t> TopKOp::getDescriptor(const ProgramMeshes &) {
  return encode(describe(*this));
}

int64_t TopKOp::getScratchBytes(const ProgramMeshes &, bool onDevice) {
  return calls::scratchBytes(describe(*this), onDevice);
}

//===----------------------------------------------------------------------===//
// sort
//===----------------------------------------------------------------------===//

/// Comparisons.
double SortOp::countOperations() {
  ShapedType type = shapedTypeOf(getInputs().front());
  auto length = static_cast<double>(type.getDimSize(getDim()));
  return static_cast<double>(type.getNumElements()) *
         std::log2(std::max(length, 1.0));
}

LogicalResult SortOp::verify() {
  auto keys = static_cast<int64_t>(getKeys());
  auto count = static_cast<int64_t>(getInputs().size());
  if (keys < 1 || keys > count) // (C1)
    return emitOpError("expected 1 to ") << count << " keys but got " << keys;
  if (getOutputs().size() != getInputs().size()) // (C2)
    return emitOpError("expected ")
           << count << " outputs but got " << getOutputs().size();
  ShapedType first = shapedTypeOf(getInputs().front());
  if (failed(verifyDim(*this, "dim", static_cast<int64_t>(getDim()),
                       first.getRank())))
    return failure();
  for (auto [input, output] : llvm::zip_equal(getInputs(), getOutputs())) {
    if (shapedTypeOf(input).getShape() != first.getShape())
      return emitOpError("expected operands of one shape but got ")
             << first << " and " << input.getType();
    if (failed(verifySameType(*this, input, output)))
      return failure();
  }
  return success();
}

static calls::SortCall describe(SortOp op) {
  calls::SortCall call{{},
                       static_cast<int64_t>(op.getKeys()),
                       op.getDescending(),
                       static_cast<int64_t>(op.getDim()),
                       encodeShape(op.getInputs().front())};
  for (Value input : op.getInputs())
    call.types.push_back(encodeType(input.getType()));
  return call;
}

std::vector<int64_t> SortOp::getDescriptor(const ProgramMeshes &) {
  return encode(describe(*this));
}

int64_t SortOp::getScratchBytes(const ProgramMeshes &, bool onDevice) {
  return calls::scratchBytes(describe(*this), onDevice);
}

} // namespace shoal::rt

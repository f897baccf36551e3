// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace shoal::rt;

#include "shoal/Dialect/Rt/IR/RtDialect.cpp.inc"

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtOps.cpp.inc"

void RtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "shoal/Dialect/Rt/IR/RtOps.cpp.inc"
      >();
}

static bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

LogicalResult CallOp::verify() {
  bool onTensors = !getResults().empty();
  for (Value operand : getOperands()) {
    auto type = cast<ShapedType>(operand.getType());
    if (!type.hasStaticShape() || isa<TensorType>(type) != onTensors)
      return emitOpError("expected operands to be all static ")
             << (onTensors ? "tensors" : "memrefs") << " but got " << type;
    if (!onTensors && !takesStrides() && !isDense(operand))
      return emitOpError("expected dense memrefs but got ") << type;
  }
  return success();
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (!getResults().empty())
    return;
  for (OpOperand &input : getInputsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &input);
  for (OpOperand &output : getOutputsMutable()) {
    if (getInPlace())
      effects.emplace_back(MemoryEffects::Read::get(), &output);
    effects.emplace_back(MemoryEffects::Write::get(), &output);
  }
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

bool CallOp::bufferizesToMemoryRead(OpOperand &operand, const AnalysisState &) {
  return isDpsInput(&operand) || getInPlace();
}

bool CallOp::bufferizesToMemoryWrite(OpOperand &operand,
                                     const AnalysisState &) {
  return isDpsInit(&operand);
}

AliasingValueList CallOp::getAliasingValues(OpOperand &operand,
                                            const AnalysisState &) {
  if (!isDpsInit(&operand))
    return {};
  return {{getTiedOpResult(&operand), BufferRelation::Equivalent}};
}

static Value allocateDense(OpBuilder &builder, Location loc, Value like) {
  auto type = cast<MemRefType>(like.getType());
  return memref::AllocOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()));
}

LogicalResult CallOp::bufferize(RewriterBase &rewriter,
                                const BufferizationOptions &options,
                                BufferizationState &state) {
  SmallVector<Value> inputs, outputs, results;
  for (Value input : getInputs()) {
    FailureOr<Value> buffer = getBuffer(rewriter, input, options, state);
    if (failed(buffer))
      return failure();
    // The runtime reads dense arrays only.
    if (!isDense(*buffer)) {
      Value dense = allocateDense(rewriter, getLoc(), *buffer);
      memref::CopyOp::create(rewriter, getLoc(), *buffer, dense);
      buffer = dense;
    }
    inputs.push_back(*buffer);
  }
  for (Value output : getOutputs()) {
    FailureOr<Value> buffer = getBuffer(rewriter, output, options, state);
    if (failed(buffer))
      return failure();
    results.push_back(*buffer);
    outputs.push_back(isDense(*buffer)
                          ? *buffer
                          : allocateDense(rewriter, getLoc(), *buffer));
    if (getInPlace() && outputs.back() != *buffer)
      memref::CopyOp::create(rewriter, getLoc(), *buffer, outputs.back());
  }
  CallOp::create(rewriter, getLoc(), TypeRange(), getCallee(), getDesc(),
                 inputs, outputs, getInPlace(), getFunctionAttr(),
                 getCollectiveAttr());
  for (auto [written, result] : llvm::zip_equal(outputs, results))
    if (written != result)
      memref::CopyOp::create(rewriter, getLoc(), written, result);
  replaceOpWithBufferizedValues(rewriter, getOperation(), results);
  return success();
}

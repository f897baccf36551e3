// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtProgramOps.cpp.inc"

namespace shoal::rt {

//===----------------------------------------------------------------------===//
// custom_call
//===----------------------------------------------------------------------===//

LogicalResult CustomCallOp::verify() {
  return verifyCustomCall(*this, getTarget(), getConfig().value_or("")); // (C1)
}

static std::vector<calls::TensorShape> describe(ValueRange values) {
  std::vector<calls::TensorShape> tensors;
  for (Value value : values)
    tensors.push_back({encodeType(value.getType()), encodeShape(value)});
  return tensors;
}

std::vector<int64_t> CustomCallOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::CustomCall{describe(getInputs()), describe(getOutputs()),
                                  getTarget().str(),
                                  getConfig().value_or("").str()});
}

//===----------------------------------------------------------------------===//
// host_call
//===----------------------------------------------------------------------===//

LogicalResult HostCallOp::verify() {
  std::optional<uint64_t> number = getNumber();
  if (number && static_cast<int64_t>(*number) < 0) // (C1)
    return emitOpError("expected a number of at least 0 but got ")
           << static_cast<int64_t>(*number);
  if (!number && !getOutputs().empty()) // (C1)
    return emitOpError("expected no outputs of what is printed but got ")
           << getOutputs().size();
  return success();
}

std::vector<int64_t> HostCallOp::getDescriptor(const ProgramMeshes &) {
  calls::HostCall call{describe(getInputs()),
                       describe(getOutputs()),
                       bool(getWhen()),
                       {},
                       getUnsignedInputs().value_or(ArrayRef<int64_t>()).vec(),
                       getText().str(),
                       getPlace().str()};
  if (getNumber())
    call.number = *getNumber();
  return encode(call);
}

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

static_assert(static_cast<int64_t>(Access::Read) ==
                  static_cast<int64_t>(calls::Access::Read) &&
              static_cast<int64_t>(Access::Write) ==
                  static_cast<int64_t>(calls::Access::Write) &&
              static_cast<int64_t>(Access::ReadWrite) ==
                  static_cast<int64_t>(calls::Access::ReadWrite));

static bool areSizes(ArrayRef<int64_t> sizes, int64_t least) {
  return sizes.size() == 3 &&
         llvm::all_of(sizes, [&](int64_t size) { return size >= least; });
}

LogicalResult LaunchOp::verify() {
  if (!areSizes(getGrid(), 0) || !areSizes(getBlock(), 1)) // (C1)
    return emitOpError("expected three sizes each but got grid [")
           << getGrid() << "] and block [" << getBlock() << "]";
  if (getTouches().size() != getNumOperands()) // (C2)
    return emitOpError("touches: expected ")
           << getNumOperands() << " entries but got " << getTouches().size();
  for (auto touch : getTouches().getAsRange<TouchAttr>())
    if (touch.getBytes() < 0 || touch.getOffset() < 0)
      return emitOpError(
                 "touches: expected bytes and offsets of at least 0 but "
                 "got ")
             << touch.getBytes() << " from " << touch.getOffset();
  auto kernel = static_cast<int64_t>(getKernel());
  auto shared = static_cast<int64_t>(getSharedBytes());
  if (kernel < 0 || shared < 0) // (C3)
    return emitOpError("expected a kernel and shared bytes of at least 0 but "
                       "got ")
           << kernel << " and " << shared;
  return success();
}

std::vector<int64_t> LaunchOp::getDescriptor(const ProgramMeshes &) {
  calls::LaunchCall call;
  call.kernel = static_cast<int64_t>(getKernel());
  llvm::copy(getGrid(), call.grid.begin());
  llvm::copy(getBlock(), call.block.begin());
  call.sharedBytes = static_cast<int64_t>(getSharedBytes());
  for (auto touch : getTouches().getAsRange<TouchAttr>())
    call.buffers.push_back({touch.getOffset(), touch.getBytes(),
                            static_cast<calls::Access>(touch.getAccess())});
  return encode(call);
}

//===----------------------------------------------------------------------===//
// copy, read_scalar
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  auto input = cast<ShapedType>(getInput().getType());
  auto output = cast<ShapedType>(getOutput().getType());
  if (input.getShape() == output.getShape() &&
      input.getElementType() == output.getElementType())
    return success();
  return emitOpError("expected an output like the input, ")
         << input << ", but got " << output;
}

std::vector<int64_t> CopyOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::CopyCall{rt::countBytes(getInput())});
}

std::vector<int64_t> ReadScalarOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::ReadScalarCall{encodeType(getResult().getType())});
}

} // namespace shoal::rt

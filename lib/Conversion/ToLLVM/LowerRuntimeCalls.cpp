// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-lower-runtime-calls.

#include "../ShoalToLinalg/Descriptor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/ToLLVM/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_LOWERRUNTIMECALLS
#include "shoal/Conversion/ToLLVM/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// The address of a dense memref's first element.
static Value getPointer(OpBuilder &builder, Location loc, Value buffer) {
  Value index =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  Value integer =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), integer);
}

/// The runtime's einsum takes one or two operands, a scaled one scales and a
/// bias, its sort and a launch any
/// number, and so does what calls a function of the user's.
static LLVM::LLVMFunctionType getCalleeType(rt::CallOp call) {
  MLIRContext *context = call.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type none = LLVM::LLVMVoidType::get(context);
  if (call.getCallee() == "einsum" || call.getFunction())
    return LLVM::LLVMFunctionType::get(none, {pointer, pointer},
                                       /*isVarArg=*/true);
  if (call.getCallee() == "einsum_scaled")
    return LLVM::LLVMFunctionType::get(none, {pointer, pointer, pointer},
                                       /*isVarArg=*/true);
  if (call.getCallee() == "sort" || call.getCallee() == "launch")
    return LLVM::LLVMFunctionType::get(none, {pointer}, /*isVarArg=*/true);
  SmallVector<Type> arguments(call->getNumOperands() + 1, pointer);
  return LLVM::LLVMFunctionType::get(none, arguments);
}

static LLVM::LLVMFuncOp declareCallee(ModuleOp module, const Twine &callee,
                                      LLVM::LLVMFunctionType type) {
  std::string name = ("shoal_rt_" + callee).str();
  if (auto declared = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return declared;
  OpBuilder builder(module.getBodyRegion());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

/// The address of a constant array.
static Value makeDescriptor(OpBuilder &builder, Operation *op,
                            ArrayRef<int64_t> desc, unsigned number) {
  auto module = op->getParentOfType<ModuleOp>();
  OpBuilder atModule(module.getBodyRegion());
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), desc.size());
  auto global = LLVM::GlobalOp::create(
      atModule, op->getLoc(), type, /*isConstant=*/true,
      LLVM::Linkage::Internal, llvm::formatv("shoal_desc_{0}", number).str(),
      builder.getI64TensorAttr(desc));
  return LLVM::AddressOfOp::create(builder, op->getLoc(), global);
}

/// The user's function, which is linked in: int32_t (const shoal_custom_call
/// *).
static FailureOr<LLVM::LLVMFuncOp> declareFunction(ModuleOp module,
                                                   rt::CallOp call) {
  StringRef name = *call.getFunction();
  OpBuilder builder(module.getBodyRegion());
  auto type = LLVM::LLVMFunctionType::get(
      builder.getI32Type(), {LLVM::LLVMPointerType::get(call.getContext())});
  Operation *found = module.lookupSymbol(name);
  if (!found)
    return LLVM::LLVMFuncOp::create(builder, call.getLoc(), name, type);
  auto function = dyn_cast<LLVM::LLVMFuncOp>(found);
  if (function && function.isExternal() && function.getFunctionType() == type)
    return function;
  return call.emitError() << "custom_call \"" << name
                          << "\": the program has something else of this name";
}

static LogicalResult lowerCall(rt::CallOp call, unsigned number) {
  if (call->getNumResults() != 0)
    return call.emitOpError(
        "expected memrefs: bufferize before lowering calls");
  auto module = call->getParentOfType<ModuleOp>();
  OpBuilder builder(call);
  SmallVector<Value> arguments;
  arguments.push_back(makeDescriptor(builder, call, call.getDesc(), number));
  if (call.getFunction()) {
    FailureOr<LLVM::LLVMFuncOp> function = declareFunction(module, call);
    if (failed(function))
      return failure();
    arguments.push_back(
        LLVM::AddressOfOp::create(builder, call.getLoc(), *function));
  }
  for (Value buffer : call->getOperands())
    arguments.push_back(getPointer(builder, call.getLoc(), buffer));
  LLVM::CallOp::create(
      builder, call.getLoc(),
      declareCallee(module, call.getCallee(), getCalleeType(call)), arguments);
  call->erase();
  return success();
}

static void lower(rt::WaitOp wait, unsigned number) {
  OpBuilder builder(wait);
  Type pointer = LLVM::LLVMPointerType::get(wait.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(wait.getContext()), pointer);
  auto id = static_cast<int64_t>(wait.getCollective());
  LLVM::CallOp::create(
      builder, wait.getLoc(),
      declareCallee(wait->getParentOfType<ModuleOp>(), "wait", type),
      makeDescriptor(builder, wait, id, number));
  wait.erase();
}

static void lower(rt::ReadScalarOp read, unsigned number) {
  OpBuilder builder(read);
  Location loc = read.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(read.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(builder.getI64Type(), {pointer, pointer});
  Value desc = makeDescriptor(
      builder, read, Descriptor().addType(read.getResult().getType()).get(),
      number);
  Value value =
      LLVM::CallOp::create(
          builder, loc,
          declareCallee(read->getParentOfType<ModuleOp>(), "read_scalar", type),
          ValueRange{desc, getPointer(builder, loc, read.getBuffer())})
          .getResult();
  if (value.getType() != read.getResult().getType())
    value = arith::TruncIOp::create(builder, loc, read.getResult().getType(),
                                    value);
  read.replaceAllUsesWith(value);
  read.erase();
}

namespace {

struct LowerRuntimeCalls
    : shoal::impl::LowerRuntimeCallsBase<LowerRuntimeCalls> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<rt::RtDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (auto [number, op] : llvm::enumerate(ops)) {
      if (auto wait = dyn_cast<rt::WaitOp>(op))
        lower(wait, number);
      else if (auto read = dyn_cast<rt::ReadScalarOp>(op))
        lower(read, number);
      else if (failed(lowerCall(cast<rt::CallOp>(op), number)))
        return signalPassFailure();
    }
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-lower-runtime-calls.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_LOWERRUNTIMECALLS
#include "shoal/Conversion/Passes.h.inc"
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

/// The runtime's einsum takes one or two operands, its sort any number, and so
/// does what calls a function of the user's.
static LLVM::LLVMFunctionType getCalleeType(rt::CallOp call) {
  MLIRContext *context = call.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type none = LLVM::LLVMVoidType::get(context);
  if (call.getCallee() == "einsum" || call.getFunction())
    return LLVM::LLVMFunctionType::get(none, {pointer, pointer},
                                       /*isVarArg=*/true);
  if (call.getCallee() == "sort")
    return LLVM::LLVMFunctionType::get(none, {pointer}, /*isVarArg=*/true);
  SmallVector<Type> arguments(call->getNumOperands() + 1, pointer);
  return LLVM::LLVMFunctionType::get(none, arguments);
}

static LLVM::LLVMFuncOp declareCallee(ModuleOp module, rt::CallOp call) {
  std::string name = ("shoal_rt_" + call.getCallee()).str();
  if (auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return callee;
  OpBuilder builder(module.getBodyRegion());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name,
                                  getCalleeType(call));
}

static LLVM::GlobalOp defineDescriptor(ModuleOp module, rt::CallOp call,
                                       unsigned number) {
  OpBuilder builder(module.getBodyRegion());
  auto type =
      LLVM::LLVMArrayType::get(builder.getI64Type(), call.getDesc().size());
  return LLVM::GlobalOp::create(builder, call.getLoc(), type,
                                /*isConstant=*/true, LLVM::Linkage::Internal,
                                llvm::formatv("shoal_desc_{0}", number).str(),
                                builder.getI64TensorAttr(call.getDesc()));
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

static LogicalResult lower(rt::CallOp call, unsigned number) {
  auto module = call->getParentOfType<ModuleOp>();
  OpBuilder builder(call);
  SmallVector<Value> arguments;
  arguments.push_back(LLVM::AddressOfOp::create(
      builder, call.getLoc(), defineDescriptor(module, call, number)));
  if (call.getFunction()) {
    FailureOr<LLVM::LLVMFuncOp> function = declareFunction(module, call);
    if (failed(function))
      return failure();
    arguments.push_back(
        LLVM::AddressOfOp::create(builder, call.getLoc(), *function));
  }
  for (Value buffer : call->getOperands())
    arguments.push_back(getPointer(builder, call.getLoc(), buffer));
  LLVM::CallOp::create(builder, call.getLoc(), declareCallee(module, call),
                       arguments);
  call->erase();
  return success();
}

namespace {

struct LowerRuntimeCalls
    : shoal::impl::LowerRuntimeCallsBase<LowerRuntimeCalls> {
  void runOnOperation() override {
    SmallVector<rt::CallOp> calls;
    getOperation().walk([&](rt::CallOp call) { calls.push_back(call); });
    for (auto [number, call] : llvm::enumerate(calls)) {
      if (call->getNumResults() != 0) {
        call.emitOpError("expected memrefs: bufferize before lowering calls");
        return signalPassFailure();
      }
      if (failed(lower(call, number)))
        return signalPassFailure();
    }
  }
};

} // namespace

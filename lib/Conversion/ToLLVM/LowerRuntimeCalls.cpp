// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-lower-runtime-calls.

#include "Addresses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/ToLLVM/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "shoal-lower-runtime-calls"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_LOWERRUNTIMECALLS
#include "shoal/Conversion/ToLLVM/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numCalls(DEBUG_TYPE, "Calls of the runtime");
static PassCounter numFunctions(DEBUG_TYPE, "Functions of it that are called");
static PassCounter numWords(DEBUG_TYPE, "Words of descriptors");

/// The user's function, which is linked in: int32_t (const shoal_custom_call
/// *).
static FailureOr<LLVM::LLVMFuncOp> declareFunction(ModuleOp module,
                                                   rt::CustomCallOp call) {
  StringRef name = call.getTarget();
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

namespace {

/// Makes calls of functions, each descriptor a constant of its own.
class CallLowering {
public:
  explicit CallLowering(ModuleOp module)
      : module(module), meshes(module),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult lower(rt::RuntimeCallOpInterface call) {
    // Where a result is a tensor so are the operands (R1).
    if (llvm::any_of(call->getOperandTypes(), llvm::IsaPred<TensorType>))
      return call->emitOpError(
          "expected memrefs: bufferize before lowering calls");
    if (auto product = dyn_cast<rt::EinsumOp>(call.getOperation());
        product && !product.getPlan())
      return product.emitOpError(
          "expected a plan: run --shoal-plan-products before lowering calls");
    OpBuilder builder(call);
    Location loc = call.getLoc();
    SmallVector<Value> arguments = {makeDescriptor(builder, call)};
    if (auto custom = dyn_cast<rt::CustomCallOp>(call.getOperation())) {
      FailureOr<LLVM::LLVMFuncOp> function = declareFunction(module, custom);
      if (failed(function))
        return failure();
      arguments.push_back(LLVM::AddressOfOp::create(builder, loc, *function));
    }
    size_t named = arguments.size();
    for (Value buffer : call->getOperands())
      arguments.push_back(call.takesAnyMemref() ? addresses.ofBase(buffer)
                                                : addresses.ofFirst(buffer));
    if (call.takesScratch() && call.getScratchMutable().empty())
      arguments.push_back(LLVM::ZeroOp::create(builder, loc, pointer));
    LLVM::LLVMFuncOp callee =
        declareCallee(call, call.isVariadic() ? named : arguments.size());
    LDBG() << call->getName() << " at " << sourcePlace(loc) << " calls @"
           << callee.getSymName() << " with " << call->getNumOperands()
           << " buffers";
    ++numCalls;
    auto lowered = LLVM::CallOp::create(builder, loc, callee, arguments);
    if (call->getNumResults() == 1)
      replaceScalar(builder, call->getResult(0), lowered.getResult());
    call->erase();
    return success();
  }

private:
  /// The address of a constant array.
  Value makeDescriptor(OpBuilder &builder, rt::RuntimeCallOpInterface call) {
    std::vector<int64_t> desc = call.getDescriptor(meshes);
    LDBG(2) << "shoal_desc_" << numDescriptors << " = "
            << llvm::interleaved_array(desc);
    numWords += desc.size();
    OpBuilder atModule(module.getBodyRegion());
    auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), desc.size());
    auto global = LLVM::GlobalOp::create(
        atModule, call.getLoc(), type, /*isConstant=*/true,
        LLVM::Linkage::Internal,
        llvm::formatv("shoal_desc_{0}", numDescriptors++).str(),
        builder.getI64TensorAttr(desc));
    return LLVM::AddressOfOp::create(builder, call.getLoc(), global);
  }

  /// The function, with its named arguments. A scalar comes back as i64.
  LLVM::LLVMFuncOp declareCallee(rt::RuntimeCallOpInterface call,
                                 size_t named) {
    std::string name = ("shoal_rt_" + call.getSymbol()).str();
    if (auto declared = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return declared;
    ++numFunctions;
    MLIRContext *context = module.getContext();
    Type result = LLVM::LLVMVoidType::get(context);
    if (call->getNumResults() == 1)
      result = IntegerType::get(context, 64);
    SmallVector<Type> arguments(named, pointer);
    OpBuilder builder(module.getBodyRegion());
    return LLVM::LLVMFuncOp::create(
        builder, module.getLoc(), name,
        LLVM::LLVMFunctionType::get(result, arguments,
                                    /*isVarArg=*/call.isVariadic()));
  }

  static void replaceScalar(OpBuilder &builder, Value scalar, Value lowered) {
    if (lowered.getType() != scalar.getType())
      lowered = arith::TruncIOp::create(builder, lowered.getLoc(),
                                        scalar.getType(), lowered);
    scalar.replaceAllUsesWith(lowered);
  }

  ModuleOp module;
  rt::ProgramMeshes meshes;
  Type pointer;
  Addresses addresses;
  unsigned numDescriptors = 0;
};

struct LowerRuntimeCalls
    : shoal::impl::LowerRuntimeCallsBase<LowerRuntimeCalls> {
  void runOnOperation() override {
    SmallVector<rt::RuntimeCallOpInterface> calls;
    getOperation().walk(
        [&](rt::RuntimeCallOpInterface call) { calls.push_back(call); });
    CallLowering lowering(getOperation());
    for (rt::RuntimeCallOpInterface call : calls)
      if (failed(lowering.lower(call)))
        return signalPassFailure();
    // Descriptors have their numbers by now.
    for (MeshOp mesh :
         llvm::make_early_inc_range(getOperation().getOps<MeshOp>()))
      mesh.erase();
  }
};

} // namespace

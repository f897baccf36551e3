// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "shoal/Target/Emulation/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_EXPORTEMULATEDKERNELS
#include "shoal/Target/Emulation/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// void name(const shoal_emulated_thread *self, void *const *arguments), where
/// arguments[i] is the address of parameter i.
static void addExport(LLVM::LLVMFuncOp body) {
  std::string name = body.getName().str();
  body.setName(name + ".body");
  body.setLinkage(LLVM::Linkage::Internal);
  body->removeAttr(kKernelAttr);
  OpBuilder builder(body);
  Location loc = body.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), {pointer, pointer});
  auto exported = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  Block *entry = exported.addEntryBlock(builder);
  builder.setInsertionPointToEnd(entry);
  SmallVector<Value> arguments;
  for (int32_t i = 0, e = body.getNumArguments() - 1; i < e; ++i) {
    Value slot =
        LLVM::GEPOp::create(builder, loc, pointer, pointer,
                            entry->getArgument(1), ArrayRef<LLVM::GEPArg>{i});
    Value parameter = LLVM::LoadOp::create(builder, loc, pointer, slot);
    arguments.push_back(LLVM::LoadOp::create(builder, loc, pointer, parameter));
  }
  arguments.push_back(entry->getArgument(0));
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

namespace {

struct ExportEmulatedKernels
    : shoal::impl::ExportEmulatedKernelsBase<ExportEmulatedKernels> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> kernels;
    for (auto func : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (func->hasAttr(kKernelAttr))
        kernels.push_back(func);
    for (LLVM::LLVMFuncOp kernel : kernels)
      addExport(kernel);
  }
};

} // namespace

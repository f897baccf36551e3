// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Steps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace shoal;

void shoal::addBytes(ModuleOp module, StringRef name, StringRef bytes) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  auto global = LLVM::GlobalOp::create(
      builder, module.getLoc(), type, /*isConstant=*/true,
      LLVM::Linkage::External, name, builder.getStringAttr(bytes));
  global.setAlignment(64);
}

/// Loads the addresses 0 ... count - 1 of the array `pointers`.
static void loadPointers(OpBuilder &builder, Location loc, Value pointers,
                         size_t count, SmallVectorImpl<Value> &loaded) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  for (size_t i = 0; i < count; ++i) {
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, pointer, pointers,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    loaded.push_back(LLVM::LoadOp::create(builder, loc, pointer, address));
  }
}

/// LLVM orders the accesses of a block in pairs: those of many results that are
/// copies of arguments, a dozen instructions each, take it minutes.
static constexpr size_t kMaxInlineCopies = 32;

/// shoal_copy(to, from, bytes), which is not inlined.
static LLVM::LLVMFuncOp addCopyFunction(ModuleOp module) {
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                  {pointer, pointer, builder.getI64Type()});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, "shoal_copy", type);
  Block *body = function.addEntryBlock(builder);
  builder.setInsertionPointToEnd(body);
  LLVM::MemcpyOp::create(builder, loc, body->getArgument(0),
                         body->getArgument(1), body->getArgument(2),
                         /*isVolatile=*/false);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return function;
}

/// Where a block has many copies, they become calls.
static void outlineCopies(LLVM::LLVMFuncOp main) {
  LLVM::LLVMFuncOp function;
  for (Block &block : main.getBody()) {
    SmallVector<LLVM::MemcpyOp> copies(block.getOps<LLVM::MemcpyOp>());
    if (copies.size() <= kMaxInlineCopies)
      continue;
    if (!function)
      function = addCopyFunction(main->getParentOfType<ModuleOp>());
    for (LLVM::MemcpyOp copy : copies) {
      OpBuilder builder(copy);
      LLVM::CallOp::create(
          builder, copy.getLoc(), function,
          ValueRange{copy.getDst(), copy.getSrc(), copy.getLen()});
      copy.erase();
    }
  }
}

/// Shards, arena and the arrays of their addresses lie apart; inputs that do
/// not are not written to.
static void markApart(LLVM::LLVMFuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        UnitAttr::get(function.getContext()));
}

/// void shoal_program_entry(void *const *inputs, void *const *outputs,
///                          void *arena)
static void addEntry(ModuleOp module, const LoweredProgram &program) {
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type none = LLVM::LLVMVoidType::get(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(none, {pointer, pointer, pointer});
  auto entry =
      LLVM::LLVMFuncOp::create(builder, loc, "shoal_program_entry", type);
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(body);
  SmallVector<Value> arguments;
  loadPointers(builder, loc, body->getArgument(0),
               program.description.inputs.size(), arguments);
  loadPointers(builder, loc, body->getArgument(1),
               program.description.outputs.size(), arguments);
  arguments.push_back(body->getArgument(2));
  auto main = module.lookupSymbol<LLVM::LLVMFuncOp>(program.description.name);
  main.setLinkage(LLVM::Linkage::Internal);
  markApart(main);
  markApart(entry);
  outlineCopies(main);
  LLVM::CallOp::create(builder, loc, main, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

void shoal::addEntryPoint(ModuleOp module, const LoweredProgram &program,
                          llvm::json::Value metadata) {
  std::string text = llvm::formatv("{0}", metadata);
  text.push_back('\0');
  addBytes(module, "shoal_program_metadata", text);
  addEntry(module, program);
}

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

/// What runs once a step, one call after the other, is as fast as it gets: LLVM
/// spends no time on it, of which it would take more than in proportion to its
/// length.
static void leaveAsIs(LLVM::LLVMFuncOp function) {
  function.setNoInline(true);
  function.setOptimizeNone(true);
}

/// Shards, arena and the arrays of their addresses lie apart; inputs that do
/// not are not written to.
static void markApart(LLVM::LLVMFuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        UnitAttr::get(function.getContext()));
}

/// void shoal_program_entry(void *const *inputs, void *const *outputs,
///                          void *arena, void *shared)
static void addEntry(ModuleOp module, const LoweredProgram &program) {
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type none = LLVM::LLVMVoidType::get(module.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(none, {pointer, pointer, pointer, pointer});
  auto entry =
      LLVM::LLVMFuncOp::create(builder, loc, "shoal_program_entry", type);
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(body);
  SmallVector<Value> arguments;
  loadPointers(builder, loc, body->getArgument(0),
               program.description.inputs.size(), arguments);
  loadPointers(builder, loc, body->getArgument(1),
               program.description.outputs.size(), arguments);
  if (program.description.sharedBytes != 0)
    arguments.push_back(body->getArgument(3));
  arguments.push_back(body->getArgument(2));
  auto main = module.lookupSymbol<LLVM::LLVMFuncOp>(program.description.name);
  main.setLinkage(LLVM::Linkage::Internal);
  markApart(main);
  markApart(entry);
  leaveAsIs(main);
  leaveAsIs(entry);
  LLVM::CallOp::create(builder, loc, main, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

/// Behind the text there is room: from the cache a program may get the names of
/// other lines, which are longer.
static constexpr size_t kRoomOfMetadata = 256;

void shoal::addEntryPoint(ModuleOp module, const LoweredProgram &program,
                          llvm::json::Value metadata) {
  std::string text = llvm::formatv("{0}", metadata);
  text.append(text.size() / 4 + kRoomOfMetadata, '\0');
  addBytes(module, "shoal_program_metadata", text);
  addEntry(module, program);
}

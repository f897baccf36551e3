// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-share-tiles.

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "shoal/Conversion/Kernels/TileBytes.h"
#include "shoal/Conversion/ToLLVM/Passes.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "shoal-share-tiles"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_SHARETILES
#include "shoal/Conversion/ToLLVM/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numShared(DEBUG_TYPE, "Calls that threads share");

namespace {

/// Turns calls of a range of tiles into calls of the runtime, which calls the
/// range's entry with parts of it.
class TileSharing {
public:
  explicit TileSharing(ModuleOp module)
      : module(module), builder(module.getBodyRegion()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        word(builder.getI64Type()) {}

  void share(LLVM::LLVMFuncOp range, ArrayRef<LLVM::CallOp> calls);

private:
  /// void entry(i64 begin, i64 end, ptr arguments)
  LLVM::LLVMFuncOp makeEntry(LLVM::LLVMFuncOp range);
  Value storeArguments(LLVM::CallOp call);
  LLVM::LLVMFuncOp declareRuntime();
  /// Of argument number `i` in an array of words.
  Value addressOf(Location loc, Value array, size_t i) {
    return LLVM::GEPOp::create(builder, loc, pointer, word, array,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
  }

  ModuleOp module;
  OpBuilder builder;
  Type pointer, word;
};

} // namespace

LLVM::LLVMFuncOp TileSharing::makeEntry(LLVM::LLVMFuncOp range) {
  Location loc = range.getLoc();
  builder.setInsertionPointAfter(range);
  Type none = LLVM::LLVMVoidType::get(module.getContext());
  auto entry = LLVM::LLVMFuncOp::create(
      builder, loc, (range.getName() + "_entry").str(),
      LLVM::LLVMFunctionType::get(none, {word, word, pointer}),
      LLVM::Linkage::Private);
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(body);
  SmallVector<Value> arguments = {body->getArgument(0), body->getArgument(1)};
  for (auto [i, type] : llvm::enumerate(range.getArgumentTypes().drop_front(2)))
    arguments.push_back(LLVM::LoadOp::create(
        builder, loc, type, addressOf(loc, body->getArgument(2), i)));
  LLVM::CallOp::create(builder, loc, range, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return entry;
}

/// An array of what the call passes behind its range.
Value TileSharing::storeArguments(LLVM::CallOp call) {
  Location loc = call.getLoc();
  auto arguments = call.getArgOperands().drop_front(2);
  builder.setInsertionPointToStart(
      &call->getParentOfType<LLVM::LLVMFuncOp>().front());
  Value count = LLVM::ConstantOp::create(
      builder, loc, word, static_cast<int64_t>(arguments.size()));
  Value array = LLVM::AllocaOp::create(builder, loc, pointer, word, count);
  builder.setInsertionPoint(call);
  for (auto [i, argument] : llvm::enumerate(arguments))
    LLVM::StoreOp::create(builder, loc, argument, addressOf(loc, array, i));
  return array;
}

LLVM::LLVMFuncOp TileSharing::declareRuntime() {
  StringRef name = "shoal_rt_parallel_for";
  if (auto declared = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return declared;
  OpBuilder atModule(module.getBodyRegion());
  Type none = LLVM::LLVMVoidType::get(module.getContext());
  return LLVM::LLVMFuncOp::create(
      atModule, module.getLoc(), name,
      LLVM::LLVMFunctionType::get(none, {word, word, pointer, pointer}));
}

void TileSharing::share(LLVM::LLVMFuncOp range, ArrayRef<LLVM::CallOp> calls) {
  auto bytes = cast<IntegerAttr>(range->removeAttr(kTileBytesAttr));
  LLVM::LLVMFuncOp entry = makeEntry(range);
  LLVM::LLVMFuncOp runtime = declareRuntime();
  for (LLVM::CallOp call : calls) {
    Location loc = call.getLoc();
    Value array = storeArguments(call);
    Value cost = LLVM::ConstantOp::create(builder, loc, word, bytes.getInt());
    Value address = LLVM::AddressOfOp::create(builder, loc, entry);
    LLVM::CallOp::create(
        builder, loc, runtime,
        ValueRange{call.getArgOperands()[1], cost, address, array});
    call->erase();
    ++numShared;
  }
}

namespace {

struct ShareTiles : shoal::impl::ShareTilesBase<ShareTiles> {
  void runOnOperation() override {
    llvm::MapVector<StringAttr, LLVM::LLVMFuncOp> ranges;
    for (auto func : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (func->hasAttr(kTileBytesAttr))
        ranges.insert({func.getSymNameAttr(), func});
    llvm::DenseMap<StringAttr, SmallVector<LLVM::CallOp>> calls;
    getOperation().walk([&](LLVM::CallOp call) {
      if (FlatSymbolRefAttr callee = call.getCalleeAttr();
          callee && ranges.contains(callee.getAttr()))
        calls[callee.getAttr()].push_back(call);
    });
    TileSharing sharing(getOperation());
    for (auto [name, range] : ranges)
      sharing.share(range, calls[name]);
  }
};

} // namespace

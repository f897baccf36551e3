// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Target/Emulation/EmulatedKernel.h"
#include "shoal/Target/Emulation/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_KERNELSTOFUNCTIONS
#include "shoal/Target/Emulation/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// A type for the address of any shared buffer, of which there is a view then.
static constexpr int64_t kMaxShared = 1 << 18;

namespace {

/// The emulator's functions, declared where they are first used.
struct Emulator {
  ModuleOp module;

  func::CallOp call(OpBuilder &builder, Location loc, StringRef name,
                    ValueRange arguments, TypeRange results) {
    if (!module.lookupSymbol(name)) {
      OpBuilder declarations(module.getBodyRegion());
      auto type = builder.getFunctionType(arguments.getTypes(), results);
      func::FuncOp::create(declarations, loc, name, type).setPrivate();
    }
    return func::CallOp::create(builder, loc, name, results, arguments);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// GPU operations
//===----------------------------------------------------------------------===//

static Value makeI32(OpBuilder &builder, Location loc, int32_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}

/// Field `array`, of three, of shoal_emulated_thread.
static void replaceId(Operation *op, gpu::Dimension dimension, int32_t array,
                      Value self) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Type i32 = builder.getI32Type();
  int32_t place = 3 * array + static_cast<int32_t>(dimension);
  Value address = LLVM::GEPOp::create(builder, loc, self.getType(), i32, self,
                                      ArrayRef<LLVM::GEPArg>{place});
  Value id = LLVM::LoadOp::create(builder, loc, i32, address);
  op->replaceAllUsesWith(ValueRange{
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), id)});
  op->erase();
}

static int32_t getMode(gpu::ShuffleMode mode) {
  switch (mode) {
  case gpu::ShuffleMode::XOR:
    return SHOAL_EMU_SHUFFLE_XOR;
  case gpu::ShuffleMode::UP:
    return SHOAL_EMU_SHUFFLE_UP;
  case gpu::ShuffleMode::DOWN:
    return SHOAL_EMU_SHUFFLE_DOWN;
  case gpu::ShuffleMode::IDX:
    return SHOAL_EMU_SHUFFLE_IDX;
  }
  llvm_unreachable("no such mode");
}

static LogicalResult replaceShuffle(gpu::ShuffleOp op, Emulator &emulator) {
  if (!op.getValue().getType().isInteger(32) || !op.getValid().use_empty())
    return op.emitOpError("expected a shuffle of i32 whose partner is known to "
                          "exist");
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value none = LLVM::ZeroOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()));
  Value arguments[] = {makeI32(builder, loc, getMode(op.getMode())),
                       op.getValue(), op.getOffset(), op.getWidth(), none};
  auto call = emulator.call(builder, loc, "shoal_emu_shuffle", arguments,
                            builder.getI32Type());
  op.getShuffleResult().replaceAllUsesWith(call.getResult(0));
  op.erase();
  return success();
}

static void replaceBarrier(gpu::BarrierOp op, Emulator &emulator) {
  OpBuilder builder(op);
  emulator.call(builder, op.getLoc(), "shoal_emu_barrier", {}, {});
  op.erase();
}

/// The block's buffer number `key` takes the place of the attribution.
static void replaceShared(BlockArgument attribution, int64_t key,
                          Emulator &emulator) {
  OpBuilder builder = OpBuilder::atBlockBegin(attribution.getOwner());
  Location loc = attribution.getLoc();
  auto type = cast<MemRefType>(attribution.getType());
  int64_t bytes = type.getNumElements() *
                  llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  auto i64 = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  Value arguments[] = {i64(key), i64(bytes)};
  auto call = emulator.call(builder, loc, "shoal_emu_shared", arguments,
                            MemRefType::get({kMaxShared}, builder.getI8Type()));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  attribution.replaceAllUsesWith(memref::ViewOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
      call.getResult(0), zero, ValueRange()));
}

static LogicalResult replaceOps(Region &body, Value self, Emulator &emulator) {
  WalkResult walk = body.walk([&](Operation *op) -> WalkResult {
    if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
      replaceId(op, id.getDimension(), 0, self);
    else if (auto id = dyn_cast<gpu::BlockIdOp>(op))
      replaceId(op, id.getDimension(), 1, self);
    else if (auto id = dyn_cast<gpu::BlockDimOp>(op))
      replaceId(op, id.getDimension(), 2, self);
    else if (auto id = dyn_cast<gpu::GridDimOp>(op))
      replaceId(op, id.getDimension(), 3, self);
    else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op))
      return replaceShuffle(shuffle, emulator);
    else if (auto barrier = dyn_cast<gpu::BarrierOp>(op))
      replaceBarrier(barrier, emulator);
    else if (isa<gpu::ReturnOp>(op)) {
      OpBuilder builder(op);
      func::ReturnOp::create(builder, op->getLoc());
      op->erase();
    } else if (isa<gpu::GPUDialect>(op->getDialect()))
      return op->emitOpError("the emulated device has no such operation");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// func @name(the kernel's parameters, the thread).
static LogicalResult convert(gpu::GPUFuncOp kernel, Emulator &emulator) {
  OpBuilder builder = OpBuilder::atBlockEnd(emulator.module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Type> types(kernel.getArgumentTypes());
  types.push_back(pointer);
  auto func = func::FuncOp::create(builder, kernel.getLoc(), kernel.getName(),
                                   builder.getFunctionType(types, {}));
  func->setAttr(kKernelAttr, builder.getUnitAttr());
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    func.setArgAttrs(i, kernel.getArgAttrDict(i));
  func.getBody().takeBody(kernel.getBody());
  Block &entry = func.getBody().front();
  int64_t key = 0;
  for (BlockArgument attribution :
       entry.getArguments().drop_front(types.size() - 1))
    replaceShared(attribution, key++, emulator);
  entry.eraseArguments(types.size() - 1, key);
  Value self = entry.addArgument(pointer, kernel.getLoc());
  return replaceOps(func.getBody(), self, emulator);
}

namespace {

struct KernelsToFunctions
    : shoal::impl::KernelsToFunctionsBase<KernelsToFunctions> {
  void runOnOperation() override {
    Emulator emulator{getOperation()};
    for (auto kernels : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUModuleOp>())) {
      for (auto kernel : kernels.getOps<gpu::GPUFuncOp>())
        if (failed(convert(kernel, emulator)))
          return signalPassFailure();
      kernels.erase();
    }
  }
};

} // namespace

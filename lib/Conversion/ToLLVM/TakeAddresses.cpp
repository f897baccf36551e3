// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-take-addresses.

#include "Addresses.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Conversion/ToLLVM/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-take-addresses"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_TAKEADDRESSES
#include "shoal/Conversion/ToLLVM/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numArguments(DEBUG_TYPE, "Arguments that are addresses now");
static PassCounter numDescriptors(DEBUG_TYPE, "Descriptors made of them");

/// Whether an address is all of the value that its type does not say.
static bool isKnownButForAddress(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return !isa<UnrankedMemRefType>(type);
  // MLIR has no strides for a size of 0 in front of others.
  if (memref.hasStaticShape() && memref.getLayout().isIdentity())
    return true;
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  return memref.hasStaticShape() &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

static bool canTakeAddresses(func::FuncOp function) {
  return !function.isExternal() &&
         llvm::all_of(function.getArgumentTypes(), isKnownButForAddress);
}

/// Makes the argument an address. Casts to one are it; other uses get a
/// descriptor.
static void takeAddress(BlockArgument argument, MemRefType type,
                        const LLVMTypeConverter &types) {
  ++numArguments;
  SmallVector<OpOperand *> others;
  for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
    auto cast = dyn_cast<UnrealizedConversionCastOp>(use.getOwner());
    if (!cast || !isa<LLVM::LLVMPointerType>(cast->getResult(0).getType())) {
      others.push_back(&use);
      continue;
    }
    cast->getResult(0).replaceAllUsesWith(argument);
    cast.erase();
  }
  argument.setType(LLVM::LLVMPointerType::get(type.getContext()));
  if (others.empty())
    return;
  ++numDescriptors;
  Location loc = argument.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder, loc, types, type, argument);
  auto memref =
      UnrealizedConversionCastOp::create(builder, loc, type, descriptor);
  for (OpOperand *use : others)
    use->set(memref.getResult(0));
}

static void takeAddresses(func::FuncOp function,
                          const LLVMTypeConverter &types) {
  // Upwards: what only dead views use is dead.
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      takeAddress(argument, type, types);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      function.getResultTypes()));
  LDBG() << "@" << function.getSymName() << " takes addresses";
}

/// Rows that something else than a call reads get a descriptor of where they
/// begin.
static void describeRows(func::FuncOp function, Addresses &addresses,
                         const LLVMTypeConverter &types) {
  SmallVector<rt::RowsOp> all;
  function.walk([&](rt::RowsOp rows) { all.push_back(rows); });
  // Those of rows behind them.
  for (rt::RowsOp rows : llvm::reverse(all)) {
    if (rows.use_empty()) {
      rows.erase();
      continue;
    }
    Value address = addresses.ofBase(rows.getRows());
    OpBuilder builder(rows);
    builder.setInsertionPointAfterValue(address);
    Value descriptor = MemRefDescriptor::fromStaticShape(
        builder, rows.getLoc(), types, rows.getRows().getType(), address);
    rows.replaceAllUsesWith(
        UnrealizedConversionCastOp::create(builder, rows.getLoc(),
                                           rows.getRows().getType(), descriptor)
            .getResult(0));
    rows.erase();
  }
}

static void passAddresses(func::CallOp call, Addresses &addresses) {
  for (OpOperand &operand : call->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      operand.set(addresses.ofBase(operand.get()));
}

namespace {

struct TakeAddresses : shoal::impl::TakeAddressesBase<TakeAddresses> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Addresses addresses;
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      function.walk([&](func::CallOp call) {
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (callee && canTakeAddresses(callee))
          passAddresses(call, addresses);
      });
    LLVMTypeConverter types(&getContext());
    for (func::FuncOp function : functions) {
      describeRows(function, addresses, types);
      if (canTakeAddresses(function))
        takeAddresses(function, types);
    }
  }
};

} // namespace

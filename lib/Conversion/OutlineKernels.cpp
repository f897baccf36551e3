// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-outline-kernels.

#include "Device/BufferRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Conversion/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "shoal/Conversion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

/// A copy that no memcpy can do becomes loops.
static void expandStridedCopy(memref::CopyOp copy) {
  if (isDense(copy.getSource()) && isDense(copy.getTarget()))
    return;
  OpBuilder builder(copy);
  auto type = cast<MemRefType>(copy.getTarget().getType());
  AffineMap maps[] = {builder.getMultiDimIdentityMap(type.getRank()),
                      builder.getMultiDimIdentityMap(type.getRank())};
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, copy.getLoc(), copy.getSource(), copy.getTarget(), maps,
      iterators, [](OpBuilder &nested, Location loc, ValueRange args) {
        linalg::YieldOp::create(nested, loc, args[0]);
      });
  copy->erase();
}

/// What the op uses from outside, constants aside.
static llvm::SetVector<Value> findInputs(linalg::LinalgOp op) {
  llvm::SetVector<Value> values;
  values.insert_range(op->getOperands());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  values.remove_if(
      [](Value value) { return matchPattern(value, m_Constant()); });
  return values;
}

/// Marks the arguments of `kernel` of which no other argument is an alias.
static void markNoalias(func::FuncOp kernel, ArrayRef<Value> inputs,
                        linalg::LinalgOp op) {
  llvm::DenseMap<Value, unsigned> views;
  llvm::DenseSet<Value> written;
  for (Value input : inputs)
    if (isa<MemRefType>(input.getType()))
      ++views[findBuffer(input)];
  for (Value init : op.getDpsInits())
    written.insert(findBuffer(init));
  auto unit = UnitAttr::get(kernel.getContext());
  for (auto [number, input] : llvm::enumerate(inputs)) {
    if (!isa<MemRefType>(input.getType()))
      continue;
    Value buffer = findBuffer(input);
    if (views.lookup(buffer) == 1 || !written.contains(buffer))
      kernel.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(), unit);
    if (!written.contains(buffer))
      kernel.setArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName(), unit);
  }
}

static func::FuncOp outline(linalg::LinalgOp op, StringRef name) {
  auto module = op->getParentOfType<ModuleOp>();
  SmallVector<Value> inputs = findInputs(op).takeVector();
  OpBuilder builder(op);
  auto type = builder.getFunctionType(ValueRange(inputs).getTypes(), {});
  builder.setInsertionPointToEnd(module.getBody());
  auto kernel = func::FuncOp::create(builder, op.getLoc(), name, type);
  kernel.setPrivate();

  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  mapping.map(inputs, body->getArguments());
  llvm::SetVector<Value> captured;
  captured.insert_range(op->getOperands());
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (!mapping.contains(value))
      builder.clone(*value.getDefiningOp(), mapping);
  builder.clone(*op, mapping);
  func::ReturnOp::create(builder, op.getLoc());
  markNoalias(kernel, inputs, op);

  builder.setInsertionPoint(op);
  func::CallOp::create(builder, op.getLoc(), kernel, inputs);
  op->erase();
  return kernel;
}

namespace {

struct OutlineKernels : shoal::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : functions) {
      func.walk([](memref::CopyOp copy) { expandStridedCopy(copy); });
      SmallVector<linalg::LinalgOp> ops;
      func.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
      for (auto [number, op] : llvm::enumerate(ops))
        outline(op,
                llvm::formatv("{0}_kernel_{1}", func.getName(), number).str());
    }
  }
};

} // namespace

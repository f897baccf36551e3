// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-outline-kernels.

#include "../Buffers/BufferRange.h"
#include "KernelTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-outline-kernels"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numOutlinedKernels(DEBUG_TYPE,
                                      "Functions made of linalg ops");

static bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

/// Whether one memcpy is all that the copy takes.
static bool isOneMemcpy(memref::CopyOp copy, bool threads) {
  if (!isDense(copy.getSource()) || !isDense(copy.getTarget()))
    return false;
  if (!threads)
    return true;
  auto type = cast<MemRefType>(copy.getTarget().getType());
  SmallVector<KernelLoop> loops =
      llvm::map_to_vector(type.getShape(), [](int64_t size) {
        return KernelLoop{size, /*isParallel=*/true};
      });
  return chooseKernelTiles(loops, 2.0 * sizeInBytes(type)).empty();
}

static void expandCopy(memref::CopyOp copy) {
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

/// The linalg ops that become a kernel: one, or those of an rt.kernel.
static SmallVector<linalg::LinalgOp> linalgOpsOf(Operation *unit) {
  if (auto op = dyn_cast<linalg::LinalgOp>(unit))
    return {op};
  return llvm::to_vector(
      cast<rt::KernelOp>(unit).getBody().getOps<linalg::LinalgOp>());
}

/// What the unit uses from outside.
static llvm::SetVector<Value> findUsed(Operation *unit) {
  llvm::SetVector<Value> values;
  values.insert_range(unit->getOperands());
  getUsedValuesDefinedAbove(unit->getRegions(), values);
  return values;
}

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

/// Marks the arguments of `kernel` of which no other argument is an alias.
static void markNoalias(func::FuncOp kernel, ArrayRef<Value> inputs,
                        Operation *unit) {
  llvm::DenseMap<Value, unsigned> views;
  llvm::DenseSet<Value> written;
  for (Value input : inputs)
    if (isa<MemRefType>(input.getType()))
      ++views[findBuffer(input)];
  for (linalg::LinalgOp op : linalgOpsOf(unit))
    for (Value init : op.getDpsInits())
      written.insert(findBuffer(init));
  auto attribute = UnitAttr::get(kernel.getContext());
  for (auto [number, input] : llvm::enumerate(inputs)) {
    if (!isa<MemRefType>(input.getType()))
      continue;
    Value buffer = findBuffer(input);
    if (views.lookup(buffer) == 1 || !written.contains(buffer))
      kernel.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(),
                        attribute);
    if (!written.contains(buffer))
      kernel.setArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName(),
                        attribute);
  }
}

/// The view behind the value that the function makes itself: its arguments are
/// addresses, so that what begins at a place that only the run knows is none.
static memref::SubViewOp findInnerView(Value value) {
  auto view = value.getDefiningOp<memref::SubViewOp>();
  if (!view)
    return {};
  auto [strides, offset] = view.getType().getStridesAndOffset();
  return ShapedType::isDynamic(offset) ? view : memref::SubViewOp();
}

/// `values`, and before each view that the function makes what it is made of.
static llvm::SetVector<Value> addSources(const llvm::SetVector<Value> &values) {
  llvm::SetVector<Value> all;
  auto add = [&](auto &&self, Value value) -> void {
    if (memref::SubViewOp view = findInnerView(value))
      for (Value operand : view->getOperands())
        self(self, operand);
    all.insert(value);
  };
  for (Value value : values)
    add(add, value);
  return all;
}

/// A function of the unit, and a call of it in the unit's place.
static void outline(Operation *unit, StringRef name) {
  LDBG() << name << ": " << unit->getName() << " at "
         << sourcePlace(unit->getLoc());
  ++numOutlinedKernels;
  auto module = unit->getParentOfType<ModuleOp>();
  llvm::SetVector<Value> used = addSources(findUsed(unit));
  auto isInside = [](Value value) {
    return isConstant(value) || findInnerView(value);
  };
  SmallVector<Value> inputs =
      llvm::filter_to_vector(used, std::not_fn(isInside));
  OpBuilder builder(unit);
  auto type = builder.getFunctionType(ValueRange(inputs).getTypes(), {});
  builder.setInsertionPointToEnd(module.getBody());
  auto kernel = func::FuncOp::create(builder, unit->getLoc(), name, type);
  kernel.setPrivate();

  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  mapping.map(inputs, body->getArguments());
  for (Value value : used)
    if (isInside(value))
      builder.clone(*value.getDefiningOp(), mapping);
  if (auto group = dyn_cast<rt::KernelOp>(unit))
    for (Operation &op : group.getBody().front())
      builder.clone(op, mapping);
  else
    builder.clone(*unit, mapping);
  func::ReturnOp::create(builder, unit->getLoc());
  markNoalias(kernel, inputs, unit);

  builder.setInsertionPoint(unit);
  func::CallOp::create(builder, unit->getLoc(), kernel, inputs);
  unit->erase();
}

namespace {

struct OutlineKernels : shoal::impl::OutlineKernelsBase<OutlineKernels> {
  using OutlineKernelsBase::OutlineKernelsBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : functions) {
      func.walk([&](memref::CopyOp copy) {
        if (!isOneMemcpy(copy, threads))
          expandCopy(copy);
      });
      SmallVector<Operation *> units;
      func.walk([&](Operation *op) {
        if (isa<rt::KernelOp>(op) || (isa<linalg::LinalgOp>(op) &&
                                      !isa<rt::KernelOp>(op->getParentOp())))
          units.push_back(op);
      });
      for (auto [number, unit] : llvm::enumerate(units))
        outline(unit,
                llvm::formatv("{0}_kernel_{1}", func.getName(), number).str());
    }
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-use-device-memory.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "shoal-use-device-memory"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_USEDEVICEMEMORY
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numCopies(DEBUG_TYPE, "Copies on the device");
static PassCounter numScalars(DEBUG_TYPE, "Scalars that the host waits for");
static PassCounter numConstants(DEBUG_TYPE, "Constants in the arena");
static PassCounter numConstantBytes(DEBUG_TYPE, "Bytes of constants");

/// A copy between buffers, both dense by now, on the device.
static void callCopy(memref::CopyOp copy) {
  LDBG() << "the device copies " << copy.getSource().getType() << " at "
         << sourcePlace(copy.getLoc());
  ++numCopies;
  OpBuilder builder(copy);
  rt::CopyOp::create(builder, copy.getLoc(), TypeRange(), copy.getSource(),
                     copy.getTarget());
  copy.erase();
}

/// A load is of what decides where the program goes on: the host waits for it.
static LogicalResult readScalar(memref::LoadOp load) {
  MemRefType type = load.getMemRefType();
  if (type.getRank() != 0 || !type.getElementType().isSignlessInteger())
    return load.emitOpError("the host can read integers of buffers of rank 0 "
                            "from the device, but not from ")
           << type;
  LDBG() << "the host waits for " << type << " at "
         << sourcePlace(load.getLoc());
  ++numScalars;
  OpBuilder builder(load);
  Value scalar = rt::ReadScalarOp::create(
      builder, load.getLoc(), type.getElementType(), load.getMemRef());
  load.replaceAllUsesWith(scalar);
  load.erase();
  return success();
}

namespace {

/// Places for constants behind the planned arena.
class ConstantPlaces {
public:
  ConstantPlaces(func::FuncOp func, int64_t begin) : func(func), end(begin) {}

  int64_t getEnd() const { return end; }

  void replace(memref::GetGlobalOp use) {
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        use, use.getNameAttr());
    OpBuilder builder(use);
    Value offset =
        arith::ConstantIndexOp::create(builder, use.getLoc(), placeOf(global));
    Value view = memref::ViewOp::create(builder, use.getLoc(), use.getType(),
                                        func.getArguments().back(), offset,
                                        ValueRange());
    use.replaceAllUsesWith(view);
    use.erase();
  }

private:
  int64_t placeOf(memref::GlobalOp global) {
    if (auto place = global->getAttrOfType<IntegerAttr>(kArenaOffsetAttr))
      return place.getInt();
    int64_t place = end;
    global->setAttr(kArenaOffsetAttr,
                    Builder(global.getContext()).getI64IntegerAttr(place));
    int64_t bytes = sizeInBytes(global.getType());
    LDBG() << "@" << global.getSymName() << " of " << bytes
           << " bytes lies in the arena at " << place;
    ++numConstants;
    numConstantBytes += bytes;
    end += llvm::alignTo(bytes, kArenaAlignment);
    return place;
  }

  func::FuncOp func;
  int64_t end;
};

struct UseDeviceMemory : shoal::impl::UseDeviceMemoryBase<UseDeviceMemory> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func.isPublic() && !func.isExternal() && failed(visit(func)))
        return signalPassFailure();
  }

private:
  static LogicalResult visit(func::FuncOp func) {
    auto arena = func->getAttrOfType<IntegerAttr>(kArenaBytesAttr);
    if (!arena)
      return func.emitOpError("has no arena: expected --shoal-plan-memory to "
                              "come before");
    func.walk([](memref::CopyOp copy) { callCopy(copy); });
    WalkResult walk = func.walk(
        [](memref::LoadOp load) { return WalkResult(readScalar(load)); });
    if (walk.wasInterrupted())
      return failure();
    ConstantPlaces places(func, arena.getInt());
    func.walk([&](memref::GetGlobalOp use) { places.replace(use); });
    growArena(func, places.getEnd() - arena.getInt());
    return success();
  }

  /// The constants are there all the time.
  static void growArena(func::FuncOp func, int64_t bytes) {
    Builder builder(func.getContext());
    auto grow = [&](StringRef name) {
      int64_t before = func->getAttrOfType<IntegerAttr>(name).getInt();
      func->setAttr(name, builder.getI64IntegerAttr(before + bytes));
      return before + bytes;
    };
    grow(kLiveBytesAttr);
    func->setAttr(kConstantBytesAttr, builder.getI64IntegerAttr(bytes));
    BlockArgument arena = func.getArguments().back();
    arena.setType(
        MemRefType::get({grow(kArenaBytesAttr)}, builder.getI8Type()));
    func.setType(FunctionType::get(func.getContext(),
                                   func.front().getArgumentTypes(),
                                   func.getResultTypes()));
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-plan-memory.

#include "BufferLives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Memory/MemoryPlan.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"
#include <map>

#define DEBUG_TYPE "shoal-plan-memory"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_PLANMEMORY
#include "shoal/Conversion/Memory/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numBuffers(DEBUG_TYPE, "Buffers placed in arenas");
static PassCounter numBufferBytes(DEBUG_TYPE, "Bytes of buffers");
static PassCounter numArenaBytes(DEBUG_TYPE, "Bytes of arenas");

/// The plan in steps: the places, of all, where a buffer's life begins or ends.
/// Those before and behind an op are one if none is between them.
static MemoryPlan describePlan(ArrayRef<Buffer> buffers, const Places &places) {
  std::map<int64_t, int64_t> steps;
  for (const Buffer &buffer : buffers)
    steps[buffer.first] = steps[buffer.last] = 0;
  MemoryPlan plan;
  Operation *previous = nullptr;
  for (auto &[place, step] : steps) {
    Operation *op = places.opAt(place);
    if (op != previous)
      plan.steps.push_back(op->getLoc());
    previous = op;
    step = plan.steps.size() - 1;
  }
  for (const Buffer &buffer : buffers) {
    memref::AllocOp alloc = buffer.alloc;
    plan.buffers.push_back({buffer.offset, buffer.bytes, steps[buffer.first],
                            steps[buffer.last], alloc.getType()});
  }
  return plan;
}

static void replaceByViews(func::FuncOp func, ArrayRef<Buffer> buffers,
                           int64_t size) {
  Builder attributes(func.getContext());
  auto type = MemRefType::get({size}, attributes.getI8Type());
  unsigned number = func.getNumArguments();
  (void)func.insertArgument(number, type, DictionaryAttr(), func.getLoc());
  Value arena = func.getArgument(number);
  for (const Buffer &buffer : buffers) {
    memref::AllocOp alloc = buffer.alloc;
    OpBuilder builder(alloc);
    Value offset =
        arith::ConstantIndexOp::create(builder, alloc.getLoc(), buffer.offset);
    Value view = memref::ViewOp::create(
        builder, alloc.getLoc(), alloc.getType(), arena, offset, ValueRange());
    alloc->replaceAllUsesWith(ValueRange(view));
    alloc->erase();
  }
}

/// An unused argument of no elements becomes a memref<0x...>: the lowering to
/// LLVM takes those alone.
static void flattenEmptyArguments(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (type && type.hasStaticShape() && type.getNumElements() == 0 &&
        argument.use_empty())
      argument.setType(MemRefType::get({0}, type.getElementType()));
  }
  func.setType(FunctionType::get(func.getContext(),
                                 func.front().getArgumentTypes(),
                                 func.getResultTypes()));
}

/// Where each buffer lies and how long.
static void tellPlan(func::FuncOp func, ArrayRef<Buffer> buffers,
                     const Places &places, int64_t size) {
  numBuffers += buffers.size();
  numArenaBytes += size;
  LDBG() << "@" << func.getSymName() << ": " << buffers.size()
         << " buffers in an arena of " << size << " bytes, "
         << countLiveBytes(buffers) << " live at a time";
  auto tellOp = [&](int64_t place) {
    Operation *op = places.opAt(place);
    return (op->getName().getStringRef() + " at " + sourcePlace(op->getLoc()))
        .str();
  };
  for (const Buffer &buffer : buffers) {
    numBufferBytes += buffer.bytes;
    LDBG() << "  bytes [" << buffer.offset << ", " << buffer.end() << "), "
           << memref::AllocOp(buffer.alloc).getType() << ", from "
           << tellOp(buffer.first) << " to " << tellOp(buffer.last);
  }
}

namespace {

/// The plan with lives until waits, where that needs little more than `size`,
/// the size of the plan that `buffers` have; else that.
int64_t placeForBackground(SmallVector<Buffer> &buffers, func::FuncOp func,
                           const Places &places, int64_t size) {
  int64_t limit = size + spareForBackground(func, size);
  // Gaps may remain between buffers of different sizes: then with fewer.
  for (int64_t bytes : {limit, size, size - size / 16, size - size / 4}) {
    SmallVector<Buffer> kept(buffers);
    keepUntilWaits(kept, func, places, bytes);
    int64_t needed = placeBuffers(kept);
    LDBG() << "what collectives read stays until waits while no more than "
           << bytes << " bytes are live: an arena of " << needed
           << " bytes, of " << limit << " allowed"
           << (needed > limit ? ": rejected" : "");
    if (needed > limit)
      continue;
    buffers = kept;
    return needed;
  }
  return size;
}

struct PlanMemory : shoal::impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || !func.isPublic())
        continue;
      if (!func.getBody().hasOneBlock()) {
        func.emitOpError("cannot be planned: expected a single block");
        return signalPassFailure();
      }
      Places places(func);
      FailureOr<SmallVector<Buffer>> buffers =
          findBuffers(func, places, [](memref::AllocOp alloc) {
            alloc.emitOpError("cannot be placed in the arena: expected a "
                              "static buffer that is used in its own block "
                              "alone");
          });
      if (failed(buffers))
        return signalPassFailure();
      int64_t size = placeBuffers(*buffers);
      if (background)
        size = placeForBackground(*buffers, func, places, size);
      tellPlan(func, *buffers, places, size);
      func->setAttr(kMemoryPlanAttr,
                    toAttribute(describePlan(*buffers, places), &getContext()));
      replaceByViews(func, *buffers, size);
      flattenEmptyArguments(func);
      Builder builder(&getContext());
      func->setAttr(kArenaBytesAttr, builder.getI64IntegerAttr(size));
      func->setAttr(kLiveBytesAttr,
                    builder.getI64IntegerAttr(countLiveBytes(*buffers)));
    }
  }
};

} // namespace

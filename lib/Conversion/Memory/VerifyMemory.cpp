// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-memory.

#include "../Utils/VerifyOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Conversion/Memory/MemoryPlan.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYMEMORY
#include "shoal/Conversion/Memory/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// The integer attribute, or 0.
static int64_t getBytes(func::FuncOp func, StringRef name) {
  auto attr = func->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : 0;
}

/// (C1) of the pass's description.
static LogicalResult verifyNoAllocation(func::FuncOp func) {
  return verifyOps(func, [](memref::AllocOp alloc) -> LogicalResult {
    return alloc.emitOpError("has no place in the arena");
  });
}

/// (C2)
static LogicalResult verifyViews(func::FuncOp func, int64_t arenaBytes) {
  return verifyOps(func, [&](memref::ViewOp view) -> LogicalResult {
    APInt offset;
    auto type = view.getType();
    if (!type.hasStaticShape() ||
        !matchPattern(view.getByteShift(), m_ConstantInt(&offset)))
      return view.emitOpError("has no place that is known here");
    int64_t begin = offset.getSExtValue();
    int64_t end = begin + sizeInBytes(type);
    if (begin >= 0 && end <= arenaBytes && begin % kArenaAlignment == 0)
      return success();
    return view.emitOpError("takes bytes ")
           << begin << " to " << end << " of an arena of " << arenaBytes
           << ", in which buffers begin at multiples of " << kArenaAlignment;
  });
}

static InFlightDiagnostic emitPlanError(func::FuncOp func) {
  return func.emitOpError("has a plan of its memory in which ");
}

/// (C3) of each buffer.
static LogicalResult verifyPlan(func::FuncOp func, const MemoryPlan &plan,
                                int64_t arenaBytes) {
  for (const auto &[number, buffer] : llvm::enumerate(plan.buffers)) {
    int64_t end = buffer.offset + buffer.bytes;
    if (buffer.offset < 0 || end > arenaBytes ||
        buffer.offset % kArenaAlignment != 0)
      return emitPlanError(func)
             << "buffer " << number << " takes bytes " << buffer.offset
             << " to " << end << " of an arena of " << arenaBytes;
    if (buffer.first < 0 || buffer.first > buffer.last ||
        buffer.last >= int64_t(plan.steps.size()))
      return emitPlanError(func)
             << "buffer " << number << " lives from step " << buffer.first
             << " to " << buffer.last << " of " << plan.steps.size();
  }
  return success();
}

/// (C3) of pairs: each buffer against those that live when it begins.
static LogicalResult verifyApart(func::FuncOp func, const MemoryPlan &plan) {
  auto order = llvm::to_vector(llvm::seq(plan.buffers.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return plan.buffers[a].first < plan.buffers[b].first;
  });
  SmallVector<size_t> live;
  for (size_t number : order) {
    const MemoryPlan::Buffer &buffer = plan.buffers[number];
    llvm::erase_if(live, [&](size_t other) {
      return plan.buffers[other].last < buffer.first;
    });
    for (size_t other : live) {
      const MemoryPlan::Buffer &before = plan.buffers[other];
      if (buffer.offset < before.offset + before.bytes &&
          before.offset < buffer.offset + buffer.bytes)
        return emitPlanError(func) << "buffers " << std::min(other, number)
                                   << " and " << std::max(other, number)
                                   << " overlap and live at the same time";
    }
    live.push_back(number);
  }
  return success();
}

/// (C4)
static LogicalResult verifyLiveBytes(func::FuncOp func,
                                     const MemoryPlan &plan) {
  // What begins or ends at each step.
  SmallVector<int64_t> change(plan.steps.size() + 1, 0);
  for (const MemoryPlan::Buffer &buffer : plan.buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, live += bytes);
  int64_t stated = getBytes(func, kLiveBytesAttr);
  if (stated == most)
    return success();
  return emitPlanError(func) << most << " bytes are live at one time, but "
                             << kLiveBytesAttr << " is " << stated;
}

/// (C5)
static LogicalResult verifyProducts(func::FuncOp func) {
  WalkResult result = func.walk([](rt::EinsumOp op) {
    if (op.getPlan())
      return WalkResult::advance();
    op.emitOpError("has no plan: --shoal-plan-products makes one");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verify(func::FuncOp func) {
  auto attr = func->getAttrOfType<DictionaryAttr>(kMemoryPlanAttr);
  if (!attr)
    return success();
  MemoryPlan plan = toMemoryPlan(attr);
  int64_t arenaBytes = getBytes(func, kArenaBytesAttr);
  return success(succeeded(verifyNoAllocation(func)) &&
                 succeeded(verifyViews(func, arenaBytes)) &&
                 succeeded(verifyPlan(func, plan, arenaBytes)) &&
                 succeeded(verifyApart(func, plan)) &&
                 succeeded(verifyLiveBytes(func, plan)) &&
                 succeeded(verifyProducts(func)));
}

namespace {

struct VerifyMemory : shoal::impl::VerifyMemoryBase<VerifyMemory> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), verify)))
      signalPassFailure();
  }
};

} // namespace

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

/// (C3)
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
    for (size_t other = 0; other < number; ++other) {
      const MemoryPlan::Buffer &before = plan.buffers[other];
      if (buffer.first <= before.last && before.first <= buffer.last &&
          buffer.offset < before.offset + before.bytes && before.offset < end)
        return emitPlanError(func) << "buffers " << other << " and " << number
                                   << " overlap and live at the same time";
    }
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

static LogicalResult verify(func::FuncOp func) {
  auto attr = func->getAttrOfType<DictionaryAttr>(kMemoryPlanAttr);
  if (!attr)
    return success();
  MemoryPlan plan = toMemoryPlan(attr);
  int64_t arenaBytes = getBytes(func, kArenaBytesAttr);
  return success(succeeded(verifyNoAllocation(func)) &&
                 succeeded(verifyViews(func, arenaBytes)) &&
                 succeeded(verifyPlan(func, plan, arenaBytes)) &&
                 succeeded(verifyLiveBytes(func, plan)));
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

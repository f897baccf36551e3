// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-memory.

#include "../Utils/VerifyOps.h"
#include "BufferLives.h"
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

/// What a message calls the piece of memory.
static std::string describeMemory(bool isResults, int64_t bytes) {
  return (isResults ? "results' memory of " : "an arena of ") +
         std::to_string(bytes);
}

/// (C2)
static LogicalResult verifyViews(func::FuncOp func, const MemorySize &size) {
  return verifyOps(func, [&](memref::ViewOp view) -> LogicalResult {
    APInt offset;
    auto type = view.getType();
    if (!type.hasStaticShape() ||
        !matchPattern(view.getByteShift(), m_ConstantInt(&offset)))
      return view.emitOpError("has no place that is known here");
    // The arena is the last argument.
    bool isResults =
        size.results != 0 && view.getSource() != func.getArguments().back();
    int64_t bytes = isResults ? size.results : size.arena;
    int64_t begin = offset.getSExtValue();
    int64_t end = begin + sizeInBytes(type);
    if (begin >= 0 && end <= bytes && begin % kArenaAlignment == 0)
      return success();
    return view.emitOpError("takes bytes ")
           << begin << " to " << end << " of "
           << describeMemory(isResults, bytes)
           << ", in which buffers begin at multiples of " << kArenaAlignment;
  });
}

static InFlightDiagnostic emitPlanError(func::FuncOp func) {
  return func.emitOpError("has a plan of its memory in which ");
}

/// (C3) of each buffer.
static LogicalResult verifyPlan(func::FuncOp func, const MemoryPlan &plan,
                                const MemorySize &size) {
  for (const auto &[number, buffer] : llvm::enumerate(plan.buffers)) {
    int64_t end = buffer.offset + buffer.bytes;
    int64_t bytes = buffer.inResults ? size.results : size.arena;
    if (buffer.offset < 0 || end > bytes ||
        buffer.offset % kArenaAlignment != 0)
      return emitPlanError(func) << "buffer " << number << " takes bytes "
                                 << buffer.offset << " to " << end << " of "
                                 << describeMemory(buffer.inResults, bytes);
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
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(plan.buffers[a].first, a) <
           std::pair(plan.buffers[b].first, b);
  });
  SmallVector<size_t> live;
  for (size_t number : order) {
    const MemoryPlan::Buffer &buffer = plan.buffers[number];
    llvm::erase_if(live, [&](size_t other) {
      return plan.buffers[other].last < buffer.first;
    });
    for (size_t other : live) {
      const MemoryPlan::Buffer &before = plan.buffers[other];
      if (buffer.inResults == before.inResults &&
          buffer.offset < before.offset + before.bytes &&
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

/// Whether buffers that live until the last step have these bytes of the
/// results' memory.
static bool isKept(const MemoryPlan &plan, int64_t begin, int64_t end) {
  int64_t lastStep = int64_t(plan.steps.size()) - 1;
  SmallVector<std::pair<int64_t, int64_t>> kept;
  for (const MemoryPlan::Buffer &buffer : plan.buffers)
    if (buffer.inResults && buffer.last == lastStep)
      kept.emplace_back(buffer.offset, buffer.offset + buffer.bytes);
  llvm::sort(kept);
  for (auto [first, last] : kept)
    if (first <= begin)
      begin = std::max(begin, last);
  return begin >= end;
}

/// (C6)
static LogicalResult verifyResults(func::FuncOp func, const MemoryPlan &plan) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto offset = func.getArgAttrOfType<IntegerAttr>(i, kResultOffsetAttr);
    if (!offset)
      continue;
    auto type = cast<MemRefType>(func.getArgument(i).getType());
    int64_t begin = offset.getInt();
    if (!isKept(plan, begin, begin + sizeInBytes(type)))
      return emitPlanError(func)
             << "the result of argument " << i << " at byte " << begin
             << " of the results' memory is not kept to the end";
    if (!func.getArgument(i).use_empty())
      return emitPlanError(func) << "the result of argument " << i
                                 << " lies elsewhere, but the argument is used";
  }
  return success();
}

static LogicalResult verify(func::FuncOp func) {
  auto attr = func->getAttrOfType<DictionaryAttr>(kMemoryPlanAttr);
  if (!attr)
    return success();
  MemoryPlan plan = toMemoryPlan(attr);
  MemorySize size{getBytes(func, kResultBytesAttr),
                  getBytes(func, kArenaBytesAttr)};
  return success(succeeded(verifyNoAllocation(func)) &&
                 succeeded(verifyViews(func, size)) &&
                 succeeded(verifyPlan(func, plan, size)) &&
                 succeeded(verifyApart(func, plan)) &&
                 succeeded(verifyLiveBytes(func, plan)) &&
                 succeeded(verifyProducts(func)) &&
                 succeeded(verifyResults(func, plan)));
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

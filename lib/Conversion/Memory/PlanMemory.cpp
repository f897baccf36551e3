// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-plan-memory.

#include "../Utils/ArgumentAttrs.h"
#include "HeldAtPeak.h"
#include "JoinedBuffers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Buffers/Passes.h"
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
static PassCounter numParts(DEBUG_TYPE, "Buffers made where others copy them");
static PassCounter numPartBytes(DEBUG_TYPE, "Bytes of them");
static PassCounter numArenaBytes(DEBUG_TYPE, "Bytes of arenas");

/// The plan in steps: the places, of all, where a buffer's life begins or ends.
/// Those before and behind an op are one if none is between them.
static MemoryPlan describePlan(ArrayRef<Buffer> wholes, const Places &places,
                               const MemorySize &size, MLIRContext *context) {
  SmallVector<Buffer> buffers;
  for (const Buffer &whole : wholes)
    buffers.append(listPieces(whole));
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
    bool inResults = buffer.offset < size.results;
    // Between parts there are but bytes.
    Type type = buffer.memory ? buffer.getType()
                              : MemRefType::get({buffer.bytes},
                                                IntegerType::get(context, 8));
    plan.buffers.push_back({buffer.offset - (inResults ? 0 : size.results),
                            buffer.bytes, steps[buffer.first],
                            steps[buffer.last], type, inResults});
  }
  return plan;
}

static BlockArgument addMemory(func::FuncOp func, int64_t bytes) {
  auto type = MemRefType::get({bytes}, IntegerType::get(func.getContext(), 8));
  unsigned number = func.getNumArguments();
  (void)func.insertArgument(number, type, DictionaryAttr(), func.getLoc());
  return func.getArgument(number);
}

/// The view of its piece of memory that `buffer` becomes.
static Value createView(OpBuilder &builder, const Buffer &buffer,
                        BlockArgument memory, int64_t offset) {
  Location loc = buffer.memory.getLoc();
  Value begin = arith::ConstantIndexOp::create(builder, loc, offset);
  return memref::ViewOp::create(builder, loc, buffer.getType(), memory, begin,
                                ValueRange());
}

/// The argument of a result that lies in the results' memory is not used any
/// more.
static void replaceResult(func::FuncOp func, const Buffer &result,
                          BlockArgument results) {
  OpBuilder builder = OpBuilder::atBlockBegin(&func.front());
  cast<BlockArgument>(result.memory)
      .replaceAllUsesWith(createView(builder, result, results, result.offset));
}

/// The arguments of such results say where they lie.
static void noteOffsets(func::FuncOp func, ArrayRef<Buffer> buffers) {
  llvm::DenseMap<unsigned, int64_t> offsets;
  for (const Buffer &buffer : buffers)
    if (buffer.isResult())
      offsets[cast<BlockArgument>(buffer.memory).getArgNumber()] =
          buffer.offset;
  Builder builder(func.getContext());
  changeArgAttrs(func, [&](unsigned number, NamedAttrList &attrs) {
    attrs.erase(kResultAttr);
    if (auto offset = offsets.find(number); offset != offsets.end())
      attrs.set(kResultOffsetAttr, builder.getI64IntegerAttr(offset->second));
  });
}

/// The buffers of the parts, at their places, and no copies there any more.
static SmallVector<Buffer> placeParts(const BufferPlan &plan) {
  llvm::DenseMap<Value, int64_t> offsets;
  for (const Buffer &buffer : plan.buffers)
    offsets[buffer.memory] = buffer.offset;
  SmallVector<Buffer> placed;
  for (BufferPart part : plan.parts) {
    part.copy.erase();
    placed.push_back(part.buffer);
    placed.back().offset = offsets.at(part.whole) + part.offset;
  }
  return placed;
}

static void replaceByViews(func::FuncOp func, const BufferPlan &plan) {
  const MemorySize &size = plan.size;
  BlockArgument results;
  if (size.results != 0)
    results = addMemory(func, size.results);
  BlockArgument arena = addMemory(func, size.arena);
  noteOffsets(func, plan.buffers); // as long as all of them are there
  SmallVector<Buffer> buffers = placeParts(plan);
  buffers.append(plan.buffers);
  for (const Buffer &buffer : buffers) {
    if (buffer.isResult()) {
      replaceResult(func, buffer, results);
      continue;
    }
    Operation *alloc = buffer.memory.getDefiningOp();
    OpBuilder builder(alloc);
    bool inResults = buffer.offset < size.results;
    Value view = createView(builder, buffer, inResults ? results : arena,
                            buffer.offset - (inResults ? 0 : size.results));
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
static void tellPlan(func::FuncOp func, const BufferPlan &plan,
                     const Places &places) {
  const auto &[buffers, parts, size] = plan;
  numBuffers += buffers.size();
  numArenaBytes += size.arena;
  LDBG() << "@" << func.getSymName() << ": " << buffers.size()
         << " buffers in results of " << size.results
         << " bytes and an arena of " << size.arena << ", "
         << countLiveBytes(buffers) << " live at a time";
  auto tellOp = [&](int64_t place) {
    Operation *op = places.opAt(place);
    return (op->getName().getStringRef() + " at " + sourcePlace(op->getLoc()))
        .str();
  };
  for (const BufferPart &part : parts) {
    ++numParts;
    numPartBytes += part.buffer.bytes;
    LDBG() << "  what is copied to byte " << part.offset << " of another at "
           << sourcePlace(part.copy->getLoc()) << " is made there";
  }
  for (const Buffer &buffer : buffers) {
    numBufferBytes += buffer.bytes;
    LDBG() << "  bytes [" << buffer.offset << ", " << buffer.end() << "), "
           << buffer.getType() << ", from " << tellOp(buffer.first) << " to "
           << tellOp(buffer.last);
  }
}

/// What the plan is, for those that come behind it.
static void annotate(func::FuncOp func, ArrayRef<Buffer> buffers,
                     const Places &places, const MemorySize &size) {
  Builder builder(func.getContext());
  MemoryPlan plan = describePlan(buffers, places, size, func.getContext());
  plan.held = findHeldAtPeak(buffers, func, places);
  func->setAttr(kMemoryPlanAttr, toAttribute(plan, func.getContext()));
  if (size.results != 0)
    func->setAttr(kResultBytesAttr, builder.getI64IntegerAttr(size.results));
  func->setAttr(kArenaBytesAttr, builder.getI64IntegerAttr(size.arena));
  func->setAttr(kLiveBytesAttr,
                builder.getI64IntegerAttr(countLiveBytes(buffers)));
}

namespace {

/// Gives the plan lives until waits, where it then needs little more.
void placeForBackground(BufferPlan &plan, func::FuncOp func,
                        const Places &places, double memory) {
  llvm::DenseMap<Value, Value> wholes;
  for (const BufferPart &part : plan.parts)
    wholes[part.buffer.memory] = part.whole;
  int64_t total = plan.size.total();
  int64_t limit = total + spareForBackground(func, plan.size, memory);
  // Gaps may remain between buffers of different sizes: then with fewer.
  for (int64_t bytes : {limit, total, total - total / 16, total - total / 4}) {
    SmallVector<Buffer> kept(plan.buffers);
    keepUntilWaits(kept, wholes, func, places, bytes);
    MemorySize needed = placeBuffers(kept);
    LDBG() << "what collectives read stays until waits while no more than "
           << bytes << " bytes are live: results and arena of "
           << needed.total() << " bytes, of " << limit << " allowed"
           << (needed.total() > limit ? ": rejected" : "");
    if (needed.total() > limit)
      continue;
    plan.buffers = kept;
    plan.size = needed;
    return;
  }
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
      FailureOr<BufferPlan> plan =
          planBuffers(func, places, [](memref::AllocOp alloc) {
            alloc.emitOpError("cannot be placed in the arena: expected a "
                              "static buffer that is used in its own block "
                              "alone");
          });
      if (failed(plan))
        return signalPassFailure();
      if (background)
        placeForBackground(*plan, func, places, memory);
      tellPlan(func, *plan, places);
      annotate(func, plan->buffers, places, plan->size);
      replaceByViews(func, *plan);
      flattenEmptyArguments(func);
    }
  }
};

} // namespace

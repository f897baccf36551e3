// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-reuse-buffers.

#include "../Buffers/BufferRange.h"
#include "BufferUsers.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Buffers/Passes.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/InPlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-reuse-buffers"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_REUSEBUFFERS
#include "shoal/Conversion/Memory/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numReused(DEBUG_TYPE, "Buffers written over an operand");
static PassCounter numReusedBytes(DEBUG_TYPE, "Bytes of them");

//===----------------------------------------------------------------------===//
// Uses of a buffer
//===----------------------------------------------------------------------===//

/// Whether `input` is all of a buffer of the block that `op` reads for the last
/// time, and by this operand alone.
static bool diesIn(Operation *op, Value input) {
  Value memory = findBuffer(input);
  if (!memory.getDefiningOp<memref::AllocOp>() || !isWhole(input, memory) ||
      memory.getParentBlock() != op->getBlock())
    return false;
  if (llvm::count_if(findMemrefs(op), [&](Value memref) {
        return findBuffer(memref) == memory;
      }) != 1)
    return false;
  std::optional<SmallVector<Operation *>> users = findUsers(memory);
  return users && llvm::all_of(*users, [&](Operation *user) {
           return user == op || user->isBeforeInBlock(op);
         });
}

static bool isResult(Value memory) {
  auto argument = dyn_cast<BlockArgument>(memory);
  auto func = argument
                  ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                  : func::FuncOp();
  return func && func.getArgAttr(argument.getArgNumber(), kResultAttr);
}

/// Whether `output` is all of a buffer of the block, or of a result, that `op`
/// writes for the first time.
static bool beginsIn(Operation *op, Value output) {
  Value memory = findBuffer(output);
  if ((!memory.getDefiningOp<memref::AllocOp>() && !isResult(memory)) ||
      !isWhole(output, memory) || memory.getParentBlock() != op->getBlock())
    return false;
  std::optional<SmallVector<Operation *>> users = findUsers(memory);
  return users && llvm::none_of(*users, [&](Operation *user) {
           return user->isBeforeInBlock(op);
         });
}

//===----------------------------------------------------------------------===//
// One buffer for two
//===----------------------------------------------------------------------===//

/// All of `memory` as a memref of `type`.
static Value reinterpret(OpBuilder &builder, Value memory, MemRefType type) {
  if (memory.getType() == type)
    return memory;
  auto [strides, offset] = type.getStridesAndOffset();
  return memref::ReinterpretCastOp::create(
      builder, memory.getLoc(), type, memory, offset, type.getShape(), strides);
}

/// Puts `kept` in the place of what `dropped` allocates.
static void replace(memref::AllocOp dropped, Value kept) {
  OpBuilder builder(dropped);
  dropped->replaceAllUsesWith(
      ValueRange(reinterpret(builder, kept, dropped.getType())));
  dropped.erase();
}

/// Makes the buffers of `input`, an allocation, and of `output` one.
static void merge(Value input, Value output) {
  auto read = findBuffer(input).getDefiningOp<memref::AllocOp>();
  Value written = findBuffer(output);
  ++numReused;
  numReusedBytes += sizeInBytes(read.getType());
  auto later = written.getDefiningOp<memref::AllocOp>();
  if (!later)
    return replace(read, written);
  // Views of either stand behind it.
  if (later->isBeforeInBlock(read))
    read->moveBefore(later);
  replace(later, read);
}

/// The operand goes out of an op that reads the same from its output.
static void dropInput(linalg::GenericOp op, OpOperand &input) {
  unsigned number = input.getOperandNumber();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.erase(maps.begin() + number);
  op.getBody()->eraseArgument(number);
  op.getInputsMutable().erase(number);
  op.setIndexingMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
}

/// An input of the op that `init` may be written over: of each, every iteration
/// has an element of its own.
static OpOperand *findInput(linalg::GenericOp op, OpOperand &init) {
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (op.payloadUsesValueFromOperand(&init) || !map.isPermutation())
    return nullptr;
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get().getType() == init.get().getType() &&
        op.getMatchingIndexingMap(input) == map && diesIn(op, input->get()))
      return input;
  return nullptr;
}

static void reuseInputs(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics())
    return;
  // Operands move up where an input goes.
  for (int64_t i = 0; i < op.getNumDpsInits(); ++i) {
    OpOperand &init = *op.getDpsInitOperand(i);
    if (!beginsIn(op, init.get()))
      continue;
    OpOperand *input = findInput(op, init);
    if (!input)
      continue;
    LDBG() << "the op at " << sourcePlace(op.getLoc())
           << " writes over its operand " << input->getOperandNumber();
    Value read = input->get(), written = init.get();
    op.getMatchingBlockArgument(input).replaceAllUsesWith(
        op.getMatchingBlockArgument(&init));
    dropInput(op, *input);
    merge(read, written);
  }
}

static void reuseInput(rt::RuntimeCallOpInterface call) {
  // Waits and scalars that are read have no destination.
  auto op = dyn_cast<DestinationStyleOpInterface>(call.getOperation());
  if (!op || !rt::mayWriteOverInput(call) || !op.hasPureBufferSemantics())
    return;
  Value input = op.getDpsInputs()[0], output = op.getDpsInits()[0];
  if (!diesIn(op, input) || !beginsIn(op, output))
    return;
  LDBG() << call->getName() << " at " << sourcePlace(call.getLoc())
         << " writes over its operand";
  merge(input, output);
}

namespace {

struct ReuseBuffers : shoal::impl::ReuseBuffersBase<ReuseBuffers> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.isPublic())
      return;
    func.walk([](Operation *op) {
      if (auto generic = dyn_cast<linalg::GenericOp>(op))
        reuseInputs(generic);
      else if (auto call = dyn_cast<rt::RuntimeCallOpInterface>(op))
        reuseInput(call);
    });
  }
};

} // namespace

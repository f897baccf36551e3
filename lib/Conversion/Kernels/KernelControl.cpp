// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Index arithmetic, threads and loops of a kernel.

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value KernelEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(integer, value));
}

Value KernelEmitter::zero(Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

// No index overflows: so the schedule chose the type.
static constexpr auto kNoOverflow = arith::IntegerOverflowFlags::nsw;

Value KernelEmitter::add(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AddIOp>(loc, lhs, rhs, kNoOverflow);
}

Value KernelEmitter::mul(Value lhs, int64_t rhs) {
  if (rhs == 1)
    return lhs;
  return builder.createOrFold<arith::MulIOp>(loc, lhs, constant(rhs),
                                             kNoOverflow);
}

Value KernelEmitter::div(Value lhs, int64_t rhs) {
  if (rhs == 1)
    return lhs;
  return builder.createOrFold<arith::DivUIOp>(loc, lhs, constant(rhs));
}

Value KernelEmitter::rem(Value lhs, int64_t rhs) {
  if (rhs == 1)
    return constant(0);
  return builder.createOrFold<arith::RemUIOp>(loc, lhs, constant(rhs));
}

Value KernelEmitter::isLess(Value lhs, int64_t rhs) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lhs,
                               constant(rhs));
}

Value KernelEmitter::select(Value condition, int64_t yes, int64_t no) {
  return arith::SelectOp::create(builder, loc, condition, constant(yes),
                                 constant(no));
}

Value KernelEmitter::smaller(Value lhs, int64_t rhs) {
  return arith::MinSIOp::create(builder, loc, lhs, constant(rhs));
}

Value KernelEmitter::both(Value lhs, Value rhs) {
  return arith::AndIOp::create(builder, loc, lhs, rhs);
}

Value KernelEmitter::toIndex(Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    value);
}

Value KernelEmitter::fromIndex(Value value) {
  return arith::IndexCastOp::create(builder, loc, integer, value);
}

Value KernelEmitter::threadX() {
  return fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
}

Value KernelEmitter::threadY() {
  return fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::y));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void KernelEmitter::ifTrue(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  body();
}

Values KernelEmitter::ifTrue(Value condition, ArrayRef<Value> otherwise,
                             llvm::function_ref<Values()> body) {
  auto branch =
      scf::IfOp::create(builder, loc, ValueRange(otherwise).getTypes(),
                        condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(builder, loc, body());
  builder.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise);
  return Values(branch.getResults());
}

Values KernelEmitter::forLoop(Value from, Value to, int64_t step,
                              ValueRange carried, LoopBody body) {
  auto loop = scf::ForOp::create(
      builder, loc, from, to, constant(step), carried,
      [&](OpBuilder &nested, Location, Value i, ValueRange values) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
        Values next = body(i, values);
        scf::YieldOp::create(builder, loc, next);
      });
  return Values(loop.getResults());
}

void KernelEmitter::forEachBlock(Body body) {
  Value block =
      fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  if (schedule.grid == schedule.blocks)
    return body(block);
  forLoop(block, constant(schedule.blocks), schedule.grid, ValueRange(),
          [&](Value number, ValueRange) {
            body(number);
            return Values();
          });
}

void KernelEmitter::forEachItem(int64_t items, Body body) {
  forEachBlock([&](Value block) {
    Value item = add(mul(block, schedule.blockX), threadX());
    if (items == schedule.blocks * schedule.blockX)
      return body(item);
    ifTrue(isLess(item, items), [&] { body(item); });
  });
}

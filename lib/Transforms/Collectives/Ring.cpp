// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ring.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

static Value makeNumber(OpBuilder &builder, Location loc, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return arith::ConstantOp::create(
      builder, loc, SplatElementsAttr::get(type, APInt(64, value, true)));
}

Value shoal::makeZeros(OpBuilder &builder, Location loc,
                       RankedTensorType type) {
  return arith::ConstantOp::create(
      builder, loc,
      SplatElementsAttr::get(
          type, cast<Attribute>(builder.getZeroAttr(type.getElementType()))));
}

//===----------------------------------------------------------------------===//
// The ring
//===----------------------------------------------------------------------===//

Ring::Ring(OpBuilder &builder, Location loc, FlatSymbolRefAttr mesh,
           AxesAttr axes, int64_t size)
    : builder(builder), loc(loc), mesh(mesh), axes(axes), size(size) {
  auto narrow = RankedTensorType::get({}, builder.getI32Type());
  Value index = spmd::AxisIndexOp::create(builder, loc, narrow, mesh, axes);
  ownIndex = arith::ExtSIOp::create(builder, loc,
                                    narrow.clone(builder.getI64Type()), index);
}

Value Ring::number(int64_t value) { return makeNumber(builder, loc, value); }

Value Ring::indexAt(Value step, int64_t ahead) {
  Value furthest = arith::AddIOp::create(builder, loc, ownIndex, number(ahead));
  Value index = arith::SubIOp::create(builder, loc, furthest, step);
  return arith::RemSIOp::create(builder, loc, index, number(size));
}

Value Ring::pass(Value value, StringAttr why) {
  return spmd::CollectivePermuteOp::create(builder, loc, value.getType(), mesh,
                                           axes, mesh, axes, value,
                                           builder.getI64IntegerAttr(1),
                                           /*pairs=*/nullptr, why);
}

SmallVector<Value> Ring::loop(int64_t first, int64_t last, ValueRange inits,
                              Body body) {
  if (last - first == 1)
    return body(number(first), inits);
  SmallVector<Value> carried{number(first)};
  llvm::append_range(carried, inits);
  SmallVector<Type> types(ValueRange(carried).getTypes());
  auto loop = WhileOp::create(builder, loc, types, carried);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(types.size(), loc);

  Block *cond = builder.createBlock(&loop.getCond(), {}, types, locations);
  Value goesOn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       cond->getArgument(0), number(last));
  YieldOp::create(builder, loc, goesOn);

  Block *block = builder.createBlock(&loop.getBody(), {}, types, locations);
  Value step = block->getArgument(0);
  SmallVector<Value> next =
      body(step, ValueRange(block->getArguments()).drop_front());
  next.insert(next.begin(),
              arith::AddIOp::create(builder, loc, step, number(1)));
  YieldOp::create(builder, loc, next);
  return SmallVector<Value>(llvm::drop_begin(loop.getResults()));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> shapeWith(Value value, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
  shape[dim] = size;
  return shape;
}

/// Where block `index` begins, in each dimension.
static SmallVector<Value> startsOf(const Blocks &blocks, Value whole,
                                   Value index) {
  Value rows = makeNumber(blocks.builder, blocks.loc, blocks.rows);
  SmallVector<Value> starts(tensorTypeOf(whole).getRank(),
                            makeNumber(blocks.builder, blocks.loc, 0));
  starts[blocks.dim] =
      arith::MulIOp::create(blocks.builder, blocks.loc, index, rows);
  return starts;
}

Value Blocks::pad(Value whole) const {
  if (isEven())
    return whole;
  RankedTensorType type = tensorTypeOf(whole);
  SmallVector<int64_t> none(type.getRank(), 0), high = none;
  high[dim] = padded() - size;
  Value zero = makeZeros(builder, loc, type.clone(ArrayRef<int64_t>()));
  return PadOp::create(builder, loc,
                       type.clone(shapeWith(whole, dim, padded())), whole, zero,
                       none, high, none);
}

Value Blocks::unpad(Value whole) const {
  if (isEven())
    return whole;
  RankedTensorType type = tensorTypeOf(whole);
  SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
  SmallVector<int64_t> limits = shapeWith(whole, dim, size);
  return SliceOp::create(builder, loc, type.clone(limits), whole, starts,
                         limits, strides);
}

Value Blocks::take(Value whole, Value index) const {
  SmallVector<int64_t> sizes = shapeWith(whole, dim, rows);
  return DynamicSliceOp::create(builder, loc, tensorTypeOf(whole).clone(sizes),
                                whole, startsOf(*this, whole, index), sizes);
}

Value Blocks::put(Value whole, Value block, Value index) const {
  return DynamicUpdateSliceOp::create(builder, loc, whole.getType(), whole,
                                      block, startsOf(*this, whole, index));
}

Value Blocks::mask(Value block, Value index) const {
  if (isEven())
    return block;
  RankedTensorType type = tensorTypeOf(block);
  RankedTensorType rowType = type.clone(builder.getI64Type());
  Value row = IotaOp::create(builder, loc, rowType, dim);
  // How many rows are left from the block's first one on; maybe less than 0.
  Value first = arith::MulIOp::create(builder, loc, index,
                                      makeNumber(builder, loc, rows));
  Value left = arith::SubIOp::create(builder, loc,
                                     makeNumber(builder, loc, size), first);
  Value end = BroadcastInDimOp::create(builder, loc, rowType, left,
                                       ArrayRef<int64_t>());
  Value isInside =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row, end);
  return arith::SelectOp::create(builder, loc, isInside, block,
                                 makeZeros(builder, loc, type));
}

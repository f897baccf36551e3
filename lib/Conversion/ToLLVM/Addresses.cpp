// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Addresses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

using namespace mlir;
using namespace shoal;

static Value castToI64(OpBuilder &builder, Location loc, Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
}

/// The address so many bytes behind another one.
static Value advance(OpBuilder &builder, Location loc, Value address,
                     OpFoldResult bytes) {
  std::optional<int64_t> known = getConstantIntValue(bytes);
  if (known == 0)
    return address;
  // Wider ones would be cut without a word.
  LLVM::GEPArg shift =
      known && llvm::isInt<LLVM::kGEPConstantBitWidth>(*known)
          ? LLVM::GEPArg(static_cast<int32_t>(*known))
          : LLVM::GEPArg(castToI64(
                builder, loc,
                getValueOrCreateConstantIndexOp(builder, loc, bytes)));
  return LLVM::GEPOp::create(builder, loc, address.getType(),
                             builder.getI8Type(), address, shift);
}

static bool isArgumentOfFunction(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->isEntryBlock() &&
         isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

static Value toPointer(OpBuilder &builder, Location loc, Value index) {
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
      castToI64(builder, loc, index));
}

static Value extractBase(OpBuilder &builder, Value buffer) {
  return memref::ExtractAlignedPointerAsIndexOp::create(
      builder, buffer.getLoc(), buffer);
}

/// That of the first element, which begins where only the run knows.
static Value extractFirst(OpBuilder &builder, Value buffer, int64_t width) {
  Location loc = buffer.getLoc();
  Value elements =
      memref::ExtractStridedMetadataOp::create(builder, loc, buffer)
          .getOffset();
  Value bytes = arith::MulIOp::create(
      builder, loc, elements,
      arith::ConstantIndexOp::create(builder, loc, width));
  Value base = extractBase(builder, buffer);
  return toPointer(builder, loc,
                   arith::AddIOp::create(builder, loc, base, bytes));
}

Value Addresses::makeBase(Value buffer) {
  OpBuilder builder(buffer.getContext());
  builder.setInsertionPointAfterValue(buffer);
  Location loc = buffer.getLoc();
  if (auto view = buffer.getDefiningOp<memref::ViewOp>())
    return advance(builder, loc, ofBase(view.getSource()),
                   getAsOpFoldResult(view.getByteShift()));
  if (auto rows = buffer.getDefiningOp<rt::RowsOp>()) {
    Value bytes = arith::MulIOp::create(
        builder, loc, rows.getFirst(),
        arith::ConstantIndexOp::create(
            builder, loc,
            sizeInBytes(MemRefType::get(
                {}, rows.getRows().getType().getElementType()))));
    return advance(builder, loc, ofFirst(rows.getBuffer()), bytes);
  }
  // Other views differ in offset, sizes and strides.
  if (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    return ofBase(view.getViewSource());
  if (isArgumentOfFunction(buffer))
    return UnrealizedConversionCastOp::create(
               builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
               buffer)
        .getResult(0);
  return toPointer(builder, loc, extractBase(builder, buffer));
}

Value Addresses::makeFirst(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t width = sizeInBytes(MemRefType::get({}, type.getElementType()));
  int64_t offset = type.getStridesAndOffset().second;
  OpBuilder builder(buffer.getContext());
  if (ShapedType::isDynamic(offset)) {
    builder.setInsertionPointAfterValue(buffer);
    return extractFirst(builder, buffer, width);
  }
  Value base = ofBase(buffer);
  builder.setInsertionPointAfterValue(base);
  return advance(builder, buffer.getLoc(), base,
                 builder.getIndexAttr(offset * width));
}

Value Addresses::ofBase(Value buffer) {
  if (Value known = bases.lookup(buffer))
    return known;
  Value made = makeBase(buffer);
  return bases[buffer] = made;
}

Value Addresses::ofFirst(Value buffer) {
  if (Value known = firsts.lookup(buffer))
    return known;
  Value made = makeFirst(buffer);
  return firsts[buffer] = made;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the threads of a block tell each other.

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace shoal;

/// The value's bits as an integer of at least 32 bits.
static Value toWord(OpBuilder &builder, Location loc, Value value) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  if (isa<FloatType>(value.getType()))
    value = arith::BitcastOp::create(builder, loc,
                                     builder.getIntegerType(width), value);
  if (width < 32)
    value = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
  return value;
}

/// The inverse.
static Value fromWord(OpBuilder &builder, Location loc, Value word, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width < 32)
    word = arith::TruncIOp::create(builder, loc, builder.getIntegerType(width),
                                   word);
  if (isa<FloatType>(type))
    word = arith::BitcastOp::create(builder, loc, type, word);
  return word;
}

static Value shuffle32(OpBuilder &builder, Location loc, Value word,
                       int64_t lanes) {
  return gpu::ShuffleOp::create(builder, loc, word, lanes, /*width=*/32,
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

/// Devices shuffle 32 bits.
static Value shuffle64(OpBuilder &builder, Location loc, Value word,
                       int64_t lanes) {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Value half =
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  Value low = arith::TruncIOp::create(builder, loc, i32, word);
  Value high = arith::TruncIOp::create(
      builder, loc, i32, arith::ShRUIOp::create(builder, loc, word, half));
  low = arith::ExtUIOp::create(builder, loc, i64,
                               shuffle32(builder, loc, low, lanes));
  high = arith::ExtUIOp::create(builder, loc, i64,
                                shuffle32(builder, loc, high, lanes));
  return arith::OrIOp::create(builder, loc, low,
                              arith::ShLIOp::create(builder, loc, high, half));
}

Value KernelEmitter::shuffleXor(Value value, int64_t lanes) {
  Value word = toWord(builder, loc, value);
  word = word.getType().isInteger(64) ? shuffle64(builder, loc, word, lanes)
                                      : shuffle32(builder, loc, word, lanes);
  return fromWord(builder, loc, word, value.getType());
}

Value KernelEmitter::allocateShared(int64_t elements, Type type) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  return kernel.addWorkgroupAttribution(
      MemRefType::get({elements}, getStorageType(type), AffineMap(), space),
      loc);
}

Value KernelEmitter::loadShared(Value buffer, Value index, Type type) {
  Value value = memref::LoadOp::create(builder, loc, buffer, toIndex(index));
  if (value.getType() != type)
    value = arith::TruncIOp::create(builder, loc, type, value);
  return value;
}

void KernelEmitter::storeShared(Value value, Value buffer, Value index) {
  Type type = getStorageType(value.getType());
  if (value.getType() != type)
    value = arith::ExtUIOp::create(builder, loc, type, value);
  memref::StoreOp::create(builder, loc, value, buffer, toIndex(index));
}

void KernelEmitter::barrier() { gpu::BarrierOp::create(builder, loc); }

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Counter-based random numbers as a composite: threefry-2x32 (Salmon et al.,
// SC'11) on i32 tensors.

#include "shoal/Dialect/Shoal/IR/RandomOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/RandomOps.cpp.inc"

LogicalResult shoal::verifyKey(Operation *op, const Twine &what, Value key) {
  return verifyShape(op, what, key, {2});
}

LogicalResult RandomOp::verify() {
  return verifyKey(*this, "operand 0", getKey()); // (C1)
}

namespace {
struct Words {
  Value x0, x1;
};
} // namespace

/// The counter of each element, its row-major index as (high, low) words.
static Words buildCounter(TensorBuilder &b, ArrayRef<int64_t> shape) {
  int64_t elements = ShapedType::getNumElements(shape);
  bool isLong = elements > (int64_t(1) << 31);
  Type element = isLong ? b.getI64Type() : b.getI32Type();
  auto type = RankedTensorType::get(shape, element);
  Value index;
  int64_t stride = 1;
  for (int64_t dim = shape.size(); dim-- > 0; stride *= shape[dim]) {
    if (shape[dim] == 1)
      continue;
    Value term = b.iota(shape, element, dim);
    if (stride != 1)
      term = b.mul(term, b.splat(type, stride));
    index = index ? b.add(index, term) : term;
  }
  if (!index)
    index = b.splat(type, int64_t(0));
  if (!isLong)
    return {b.splat(type, int64_t(0)), index};
  Value high = arith::ShRUIOp::create(b, index, b.splat(type, int64_t(32)));
  return {b.convert(high, b.getI32Type()), b.convert(index, b.getI32Type())};
}

/// Word `i` of the key, as an i32 scalar tensor.
static Value keyWord(TensorBuilder &b, Value key, int64_t i) {
  return b.convert(b.reshape(b.sliceDim(key, 0, i, i + 1), {}), b.getI32Type());
}

static Value rotateLeft(TensorBuilder &b, Value x, int64_t bits) {
  Value left = arith::ShLIOp::create(b, x, b.splat(x.getType(), bits));
  Value right = arith::ShRUIOp::create(b, x, b.splat(x.getType(), 32 - bits));
  return arith::OrIOp::create(b, left, right);
}

/// threefry-2x32 with 20 rounds: four rounds of mixing, then the next two words
/// of the key schedule, five times.
static Words threefry(TensorBuilder &b, Value key, Words counter) {
  static constexpr int64_t kRotations[2][4] = {{13, 15, 26, 6},
                                               {17, 29, 16, 24}};
  ArrayRef<int64_t> shape = tensorTypeOf(counter.x0).getShape();
  Value k0 = keyWord(b, key, 0), k1 = keyWord(b, key, 1);
  Value parity = arith::XOrIOp::create(
      b, arith::XOrIOp::create(b, k0, k1),
      b.splat(k0.getType(), static_cast<int64_t>(0x1BD11BDA)));
  Value schedule[3] = {k0, k1, parity};
  auto inject = [&](Value x, unsigned word, int64_t increment) {
    Value k = schedule[word % 3];
    if (increment != 0)
      k = b.add(k, b.splat(k.getType(), increment));
    return b.add(x, b.broadcast(k, shape, {}));
  };
  Value x0 = inject(counter.x0, 0, 0), x1 = inject(counter.x1, 1, 0);
  for (unsigned group = 0; group < 5; ++group) {
    for (int64_t bits : kRotations[group % 2]) {
      x0 = b.add(x0, x1);
      x1 = arith::XOrIOp::create(b, rotateLeft(b, x1, bits), x0);
    }
    x0 = inject(x0, group + 1, 0);
    x1 = inject(x1, group + 2, group + 1);
  }
  return {x0, x1};
}

/// The high `bits` bits of an integer as a fraction in [0, 1).
static Value toFraction(TensorBuilder &b, Value x, unsigned bits,
                        Type element) {
  unsigned width = tensorTypeOf(x).getElementTypeBitWidth();
  if (bits < width)
    x = arith::ShRUIOp::create(
        b, x, b.splat(x.getType(), static_cast<int64_t>(width - bits)));
  return b.scale(b.convert(x, element),
                 std::ldexp(1.0, -static_cast<int>(bits)));
}

static Value buildUniform(TensorBuilder &b, Words words, FloatType element) {
  if (!element.isF64())
    return toFraction(b, words.x0, element.getFPMantissaWidth(), element);
  Type i64 = b.getI64Type();
  Value high = b.convert(words.x0, i64);
  high = arith::ShLIOp::create(b, high, b.splat(high.getType(), int64_t(32)));
  Value both = arith::OrIOp::create(b, high, b.convert(words.x1, i64));
  return toFraction(b, both, element.getFPMantissaWidth(), element);
}

/// Box and Muller's transform, in f32 or f64.
static Value buildNormal(TensorBuilder &b, Words words, FloatType element) {
  FloatType wide = element.isF64() ? b.getF64Type() : b.getF32Type();
  unsigned bits = element.isF64() ? 32 : 24;
  Value u0 = toFraction(b, words.x0, bits, wide);
  Value u1 = toFraction(b, words.x1, bits, wide);
  Value log = math::LogOp::create(b, b.sub(b.splat(u0.getType(), 1.0), u0));
  Value radius = math::SqrtOp::create(b, b.scale(log, -2.0));
  Value cos = math::CosOp::create(b, b.scale(u1, 2.0 * llvm::numbers::pi));
  return b.convert(b.mul(radius, cos), element);
}

SmallVector<Value> RandomOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  RankedTensorType type = tensorTypeOf(getResult());
  auto element = cast<FloatType>(type.getElementType());
  Words words = threefry(b, getKey(), buildCounter(b, type.getShape()));
  return {getDistribution() == Distribution::Uniform
              ? buildUniform(b, words, element)
              : buildNormal(b, words, element)};
}

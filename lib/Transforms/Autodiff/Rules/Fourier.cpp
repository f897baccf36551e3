// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Adjoints of discrete Fourier transforms: the transform in the other
// direction, scaled by what one of them divides by.

#include "Rules.h"
#include "shoal/Dialect/Shoal/IR/FourierOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct Fft : DifferentiableOpInterface::ExternalModel<Fft, FftOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<FftOp>(operation);
    if (op.getInputs().size() == 1)
      ofReal(op, vjp);
    else if (op.getResults().size() == 1)
      toReal(op, vjp);
    else
      ofComplex(op, vjp);
    return success();
  }

private:
  static SmallVector<Value> transform(TensorBuilder &b, FftOp op,
                                      ValueRange halves, bool inverse) {
    auto made =
        FftOp::create(b, halves.getTypes(), halves, op.getDim(), inverse);
    return {made.getResults().begin(), made.getResults().end()};
  }

  static void ofComplex(FftOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    SmallVector<Value> g{vjp.cotangentOrZero(0), vjp.cotangentOrZero(1)};
    double length = static_cast<double>(op.getLength());
    double factor = op.getInverse() ? 1 / length : length;
    auto made = transform(b, op, g, !op.getInverse());
    for (unsigned i : {0, 1})
      vjp.add(i, b.scale(made[i], factor));
  }

  /// The real part of what a line makes whose second half is zero.
  static void ofReal(FftOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    int64_t dim = op.getDim(), length = op.getLength();
    SmallVector<Value> g{vjp.cotangentOrZero(0), vjp.cotangentOrZero(1)};
    SmallVector<int64_t> zeros(tensorTypeOf(g[0]).getRank(), 0), high(zeros);
    high[dim] = length - tensorTypeOf(g[0]).getDimSize(dim);
    for (Value &half : g)
      half = b.pad(half, zeros, high, zeros);
    Value real = transform(b, op, g, /*inverse=*/true)[0];
    vjp.add(0, b.scale(real, static_cast<double>(length)));
  }

  /// Numbers but for the first, and the last of an even line, stand for two.
  static void toReal(FftOp op, Vjp &vjp) {
    TensorBuilder &b = vjp.b;
    int64_t dim = op.getDim(), length = op.getLength();
    auto type = tensorTypeOf(op.getInputs()[0]);
    auto sums = FftOp::create(b, TypeRange{type, type}, vjp.cotangent(), dim,
                              /*inverse=*/false);
    SmallVector<double> real, imaginary;
    for (int64_t k = 0; k < type.getDimSize(dim); ++k) {
      bool isAlone = k == 0 || 2 * k == length;
      double share = 1.0 / static_cast<double>(length);
      real.push_back(isAlone ? share : 2 * share);
      imaginary.push_back(isAlone ? 0 : 2 * share);
    }
    vjp.add(0, weigh(b, sums.getResult(0), real, dim));
    vjp.add(1, weigh(b, sums.getResult(1), imaginary, dim));
  }

  static Value weigh(TensorBuilder &b, Value x, ArrayRef<double> weights,
                     int64_t dim) {
    RankedTensorType type = tensorTypeOf(x);
    auto line =
        RankedTensorType::get({type.getDimSize(dim)}, type.getElementType());
    SmallVector<Attribute> numbers;
    for (double weight : weights)
      numbers.push_back(b.getFloatAttr(type.getElementType(), weight));
    Value constant =
        arith::ConstantOp::create(b, DenseElementsAttr::get(line, numbers));
    return b.mul(x, b.broadcast(constant, type.getShape(), dim));
  }
};

} // namespace

void shoal::registerFourierDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    FftOp::attachInterface<Fft>(*context);
  });
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/Tensor.h"
#include "mlir/IR/Builders.h"
#include "shoal/Support/SmallFloat.h"
#include "llvm/ADT/APFloat.h"
#include "gmock/gmock.h"
#include <cmath>
#include <random>

using namespace shoal::reference;
using shoal::support::Float8E4M3FN;
using shoal::support::Float8E5M2;
using shoal::support::toFloat;
using shoal::support::toFloat8E4M3FN;
using shoal::support::toFloat8E5M2;
using testing::ElementsAre;

static constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Rounding, TiesGoToTheEvenNeighbour) {
  EXPECT_EQ(roundTo(ElementType::BF16, 257), 256);
  EXPECT_EQ(roundTo(ElementType::BF16, 259), 260);
  EXPECT_EQ(roundTo(ElementType::F16, 2049), 2048);
  EXPECT_EQ(roundTo(ElementType::F16, 2051), 2052);
  EXPECT_EQ(roundTo(ElementType::F32, 16777217), 16777216);
  EXPECT_EQ(roundTo(ElementType::F64, 16777217), 16777217);
}

TEST(Rounding, RoundsOnceAndNotOverF32) {
  // Just above the tie 257: f32 would drop the last bit and then go down.
  EXPECT_EQ(roundTo(ElementType::BF16, 257 + 0x1p-40), 258);
  EXPECT_EQ(roundTo(ElementType::F16, 2049 + 0x1p-40), 2050);
}

TEST(Rounding, OverflowsToInfinity) {
  EXPECT_EQ(roundTo(ElementType::F16, 65519), 65504);
  EXPECT_EQ(roundTo(ElementType::F16, 65520), infinity);
  EXPECT_EQ(roundTo(ElementType::F16, -65520), -infinity);
  EXPECT_EQ(roundTo(ElementType::BF16, 0x1.fep127), 0x1.fep127);
  EXPECT_EQ(roundTo(ElementType::BF16, 0x1.ffp127), infinity);
  EXPECT_EQ(roundTo(ElementType::F32, 1e300), infinity);
}

TEST(Rounding, OfEightBits) {
  EXPECT_EQ(roundTo(ElementType::F8E4M3FN, 17), 16);
  EXPECT_EQ(roundTo(ElementType::F8E4M3FN, 19), 20);
  EXPECT_EQ(roundTo(ElementType::F8E4M3FN, 17 + 0x1p-40), 18);
  EXPECT_EQ(roundTo(ElementType::F8E4M3FN, -464), -448);
  EXPECT_TRUE(std::isnan(roundTo(ElementType::F8E4M3FN, 464 + 0x1p-40)));
  EXPECT_TRUE(std::isnan(roundTo(ElementType::F8E4M3FN, -infinity)));
  EXPECT_EQ(roundTo(ElementType::F8E4M3FN, 0x1.8p-9), 0x1p-8);
  EXPECT_EQ(roundTo(ElementType::F8E4M3FN, 0x1p-10), 0);
  EXPECT_EQ(roundTo(ElementType::F8E5M2, 9), 8);
  EXPECT_EQ(roundTo(ElementType::F8E5M2, 11), 12);
  EXPECT_EQ(roundTo(ElementType::F8E5M2, 61439), 57344);
  EXPECT_EQ(roundTo(ElementType::F8E5M2, -61440), -infinity);
  EXPECT_EQ(roundTo(ElementType::F8E5M2, 0x1.8p-16), 0x1p-15);
}

/// The codes are the finite numbers in order, from the runtime's conversion and
/// from the interpreter's.
TEST(Rounding, OfEightBitsIsThatOfTheRuntime) {
  for (int code = 0; code < 256; ++code) {
    auto byte = static_cast<uint8_t>(code);
    for (float factor : {0.93f, 0.9375f, 1.0f, 1.0625f, 1.07f, 1.125f}) {
      float a = toFloat(Float8E4M3FN{byte}) * factor;
      float b = toFloat(Float8E5M2{byte}) * factor;
      double roundedA = roundTo(ElementType::F8E4M3FN, a);
      double roundedB = roundTo(ElementType::F8E5M2, b);
      if (std::isnan(roundedA))
        EXPECT_TRUE(std::isnan(toFloat(toFloat8E4M3FN(a)))) << code;
      else
        EXPECT_EQ(toFloat(toFloat8E4M3FN(a)), roundedA) << code;
      if (std::isnan(roundedB))
        EXPECT_TRUE(std::isnan(toFloat(toFloat8E5M2(b)))) << code;
      else
        EXPECT_EQ(toFloat(toFloat8E5M2(b)), roundedB) << code;
    }
  }
}

TEST(Rounding, KeepsSubnormalsSignedZeroAndNaN) {
  EXPECT_EQ(roundTo(ElementType::F16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(roundTo(ElementType::F16, 0x1.8p-24), 0x1p-23);
  EXPECT_EQ(roundTo(ElementType::F16, 0x1p-25), 0);
  EXPECT_EQ(roundTo(ElementType::BF16, 0x1p-133), 0x1p-133);
  EXPECT_TRUE(std::signbit(roundTo(ElementType::F16, -0x1p-30)));
  EXPECT_TRUE(std::isnan(roundTo(ElementType::BF16, NAN)));
}

static double roundByAPFloat(const llvm::fltSemantics &semantics,
                             double value) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

TEST(Rounding, AgreesWithAPFloat) {
  std::mt19937_64 bits(1); // NOLINT(bugprone-random-generator-seed)
  for (int i = 0; i < 100000; ++i) {
    uint64_t random = bits();
    // Exponents from below the subnormals to above the largest number.
    double value = std::ldexp(1.0 + double(random >> 12) * 0x1p-52,
                              int(random % 300) - 150);
    ASSERT_EQ(roundTo(ElementType::BF16, value),
              roundByAPFloat(llvm::APFloat::BFloat(), value))
        << value;
    ASSERT_EQ(roundTo(ElementType::F16, value),
              roundByAPFloat(llvm::APFloat::IEEEhalf(), value))
        << value;
  }
}

TEST(Wrapping, IsTwosComplement) {
  EXPECT_EQ(wrapTo(ElementType::I8, 200), -56);
  EXPECT_EQ(wrapTo(ElementType::I16, 40000), 40000 - 65536);
  EXPECT_EQ(wrapTo(ElementType::I64, -1), -1);
  EXPECT_EQ(wrapTo(ElementType::I1, 3), 1);
  EXPECT_EQ(asSigned(ElementType::I1, 1), -1);
  EXPECT_EQ(asUnsigned(ElementType::I8, -1), 255u);
  EXPECT_EQ(asUnsigned(ElementType::I64, -1), ~uint64_t(0));
}

TEST(TensorType, ReadsStaticTensorsAndScalars) {
  mlir::MLIRContext context;
  mlir::Builder b(&context);
  auto tensor = mlir::RankedTensorType::get({2, 3}, b.getBF16Type());
  EXPECT_EQ(TensorType::from(tensor), (TensorType{ElementType::BF16, {2, 3}}));
  EXPECT_EQ(TensorType::from(b.getI1Type()), (TensorType{ElementType::I1, {}}));
  EXPECT_EQ(TensorType::from(tensor)->str(), "tensor<2x3xbf16>");
}

TEST(TensorType, RefusesTheRest) {
  mlir::MLIRContext context;
  mlir::Builder b(&context);
  auto ofShape = [&](llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, b.getF32Type());
  };
  EXPECT_FALSE(TensorType::from(ofShape({mlir::ShapedType::kDynamic})));
  EXPECT_FALSE(TensorType::from(ofShape({int64_t(1) << 40, 2})));
  EXPECT_FALSE(TensorType::from(ofShape({int64_t(1) << 32, int64_t(1) << 32})));
  EXPECT_FALSE(TensorType::from(b.getIntegerType(4)));
  EXPECT_FALSE(TensorType::from(b.getIntegerType(32, /*isSigned=*/false)));
  EXPECT_FALSE(TensorType::from(b.getNoneType()));
}

TEST(Tensor, CopiesAreIndependent) {
  Tensor a(TensorType{ElementType::I32, {2}});
  Tensor b = a;
  b.getMutableElements()[0].i = 7;
  EXPECT_EQ(a[0].i, 0);
  EXPECT_EQ(b[0].i, 7);
  Tensor c = b.reshaped({2, 1});
  EXPECT_THAT(c.getShape(), ElementsAre(2, 1));
  EXPECT_EQ(c.str(), "[[7], [0]]");
}

TEST(Tensor, BytesRoundTrip) {
  for (ElementType type :
       {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16,
        ElementType::I64, ElementType::I32, ElementType::I16, ElementType::I8,
        ElementType::I1}) {
    Tensor tensor(TensorType{type, {3}});
    auto elements = tensor.getMutableElements();
    elements[0] = makeScalar(type, 1);
    elements[1] = makeScalar(type, -3.5);
    elements[2] = unspecifiedScalar(type);
    std::vector<char> bytes = tensor.toBytes();
    EXPECT_EQ(bytes.size(), 3 * shoal::support::elementSize(type));
    Tensor back = Tensor::fromBytes(tensor.getType(), bytes);
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(isSame(type, tensor[i], back[i])) << int(type) << " " << i;
  }
}

TEST(Tensor, PrintsUpToALimit) {
  Tensor tensor(TensorType{ElementType::F32, {2, 3}});
  for (auto [i, element] : llvm::enumerate(tensor.getMutableElements()))
    element.f = double(i) / 4;
  EXPECT_EQ(tensor.str(), "[[0, 0.25, 0.5], [0.75, 1, 1.25]]");
  EXPECT_EQ(tensor.str(2), "[[0, 0.25, ...], ...]");
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Bounds.h"
#include "Fuzz/Runs.h"
#include "mlir/IR/Builders.h"
#include "gmock/gmock.h"

using namespace shoal;
using namespace shoal::fuzz;
using namespace shoal::reference;
using testing::HasSubstr;

namespace {
struct BoundsTest : testing::Test {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::Builder b{&context};
  Bounds small{3, 0, 0};
};
} // namespace

TEST_F(BoundsTest, SumsOfSmallWholeNumbersAreExact) {
  EXPECT_TRUE(sumOf(1000, small, b.getF32Type()).isExact());
  EXPECT_EQ(sumOf(1000, small, b.getF32Type()).bound, 3000);
  // 8 bits hold 256, 11 bits 2048.
  EXPECT_TRUE(sumOf(85, small, b.getBF16Type()).isExact());
  EXPECT_FALSE(sumOf(86, small, b.getBF16Type()).isExact());
  EXPECT_TRUE(sumOf(682, small, b.getF16Type()).isExact());
  EXPECT_FALSE(sumOf(683, small, b.getF16Type()).isExact());
}

TEST_F(BoundsTest, ProductsMultiplyStepsAndBounds) {
  Bounds halves{2, -1, 0};
  Bounds made = product(halves, halves, b.getF32Type());
  EXPECT_EQ(made.bound, 4);
  EXPECT_EQ(made.quantum, -2);
  EXPECT_TRUE(made.isExact());
  EXPECT_FALSE(made.isWhole());
}

TEST_F(BoundsTest, BitsOfIntegersLeaveTheirBound) {
  // 2 | 1 is 3.
  Bounds two{2, 0, 0};
  mlir::Type i8 = b.getI8Type();
  EXPECT_EQ(rangeOfReduction(ReduceKind::Or, two, 2, i8)->bound, 128);
  EXPECT_EQ(rangeOfReduction(ReduceKind::Max, two, 2, i8)->bound, 2);
  // Over no element floats have an infinity, integers their least.
  EXPECT_EQ(rangeOfReduction(ReduceKind::Max, two, 0, b.getF32Type()),
            std::nullopt);
  EXPECT_EQ(rangeOfReduction(ReduceKind::Max, two, 0, i8)->bound, 128);
}

TEST_F(BoundsTest, ErrorsGrowAndEndUnusable) {
  Bounds rough = smooth(small, 1, 1, b.getBF16Type());
  EXPECT_GT(rough.error, 0);
  EXPECT_GT(sum(rough, rough, b.getBF16Type()).error, 2 * rough.error);
  EXPECT_FALSE(isUsable(sumOf(100, rough, b.getBF16Type()), b.getBF16Type()));
  EXPECT_FALSE(isUsable({1e5, 0, 0}, b.getF16Type()));
}

static Tensor row(std::vector<double> numbers) {
  Tensor tensor({ElementType::F32, {static_cast<int64_t>(numbers.size())}});
  for (auto [element, number] :
       llvm::zip_equal(tensor.getMutableElements(), numbers))
    element = makeScalar(ElementType::F32, number);
  return tensor;
}

TEST_F(BoundsTest, ResultsAgreeWithinTheirErrorAlone) {
  Bounds exact{9, 0, 0}, rough{9, 0, 0.5};
  EXPECT_FALSE(compareResults(row({1, 2}), row({1, 2}), exact));
  EXPECT_TRUE(compareResults(row({1, 2}), row({1, 2.001}), exact));
  EXPECT_FALSE(compareResults(row({1, 2}), row({1, 2.9}), rough));
  EXPECT_TRUE(compareResults(row({1, 2}), row({1, 3.1}), rough));
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(compareResults(row({nan, 2}), row({nan, 2}), exact));
  auto difference = compareResults(row({1, 2}), row({1, nan}), rough);
  ASSERT_TRUE(difference);
  EXPECT_THAT(*difference, HasSubstr("1 of 2 elements differ, the first is "
                                     "element 1: expected 2"));
}

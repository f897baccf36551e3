// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ReduceKind.h as its three users have it: the ops that are built of it, as
// their folders compute them, the runtime and the reference interpreter agree
// on all kinds, types and pairs of values where they could differ.

#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "Reference/Combiner.h"
#include "Runtime/Program/Arithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace shoal;
using mlir::TypedAttr;
using reference::ElementType;
using reference::Scalar;

static constexpr ReduceKind allKinds[] = {ReduceKind::Sum, ReduceKind::Prod,
                                          ReduceKind::Max, ReduceKind::Min,
                                          ReduceKind::And, ReduceKind::Or};

namespace {

/// An element type to each of the three, and what its values are to a test.
template <typename T>
struct TypeOf;
template <>
struct TypeOf<double> {
  static constexpr const char *name = "f64";
  static constexpr double largest = std::numeric_limits<double>::max();
};
template <>
struct TypeOf<float> {
  static constexpr const char *name = "f32";
  static constexpr double largest = std::numeric_limits<float>::max();
};
template <>
struct TypeOf<rt::BFloat16> {
  static constexpr const char *name = "bf16";
  static constexpr double largest = 0x1.fep127;
};
template <>
struct TypeOf<rt::Float16> {
  static constexpr const char *name = "f16";
  static constexpr double largest = 65504;
};
template <>
struct TypeOf<rt::Float8E4M3FN> {
  static constexpr const char *name = "f8E4M3FN";
  static constexpr double largest = 448;
};
template <>
struct TypeOf<rt::Float8E5M2> {
  static constexpr const char *name = "f8E5M2";
  static constexpr double largest = 57344;
};
template <typename T>
  requires std::is_integral_v<T>
struct TypeOf<T> {
  static const char *const name;
};
template <>
const char *const TypeOf<int64_t>::name = "i64";
template <>
const char *const TypeOf<int32_t>::name = "i32";
template <>
const char *const TypeOf<int16_t>::name = "i16";
template <>
const char *const TypeOf<int8_t>::name = "i8";
template <>
struct TypeOf<rt::Bool> {
  static constexpr const char *name = "i1";
};

template <typename T>
class Algebra : public testing::Test {
protected:
  static constexpr bool isFloat = rt::isFloatType<T>;

  Algebra() : builder(&context) {
    context.loadDialect<mlir::arith::ArithDialect>();
    element = *support::parseElementType(TypeOf<T>::name);
    type = mlirType();
    builder.setInsertionPointToStart(&block);
  }

  mlir::Type mlirType() {
    std::string name = TypeOf<T>::name;
    if (name == "f64")
      return builder.getF64Type();
    if (name == "f32")
      return builder.getF32Type();
    if (name == "bf16")
      return builder.getBF16Type();
    if (name == "f16")
      return builder.getF16Type();
    if (name == "f8E4M3FN")
      return mlir::Float8E4M3FNType::get(&context);
    if (name == "f8E5M2")
      return mlir::Float8E5M2Type::get(&context);
    return builder.getIntegerType(reference::bitWidth(element));
  }

  std::vector<ReduceKind> kinds() const {
    std::vector<ReduceKind> kinds(std::begin(allKinds), std::end(allKinds));
    if (isFloat)
      kinds.resize(4);
    return kinds;
  }

  std::vector<Scalar> values() const {
    std::vector<Scalar> values;
    if constexpr (isFloat) {
      double largest = TypeOf<T>::largest;
      for (double value : {std::nan(""), -largest, -1.5, -1.0, -0.0, 0.0, 1.0,
                           1.5, 64.0, largest})
        values.push_back({.f = value});
      if (element != ElementType::F8E4M3FN)
        for (double infinity : {-HUGE_VAL, HUGE_VAL})
          values.push_back({.f = infinity});
    } else if constexpr (std::is_same_v<T, rt::Bool>) {
      values = {{.i = 0}, {.i = 1}};
    } else {
      using Limits = std::numeric_limits<T>;
      for (T value : {Limits::min(), T(Limits::min() + 1), T(-1), T(0), T(1),
                      T(2), Limits::max()})
        values.push_back({.i = value});
    }
    return values;
  }

  /// Equal, and zeros of one sign.
  bool areSame(Scalar a, Scalar b) const {
    if (!isFloat)
      return a.i == b.i;
    if (std::isnan(a.f) || std::isnan(b.f))
      return std::isnan(a.f) && std::isnan(b.f);
    return a.f == b.f && std::signbit(a.f) == std::signbit(b.f);
  }

  static std::string str(Scalar value) {
    return isFloat ? std::to_string(value.f) : std::to_string(value.i);
  }

  TypedAttr toAttr(Scalar value) {
    if constexpr (isFloat)
      return builder.getFloatAttr(type, value.f);
    return builder.getIntegerAttr(
        type, llvm::APInt(reference::bitWidth(element), value.i,
                          /*isSigned=*/true, /*implicitTrunc=*/true));
  }
  Scalar fromAttr(mlir::Attribute attr) const {
    if (auto number = mlir::dyn_cast<mlir::FloatAttr>(attr))
      return {.f = number.getValueAsDouble()};
    llvm::APInt number = mlir::cast<mlir::IntegerAttr>(attr).getValue();
    bool isTruth = number.getBitWidth() == 1;
    return {.i = isTruth ? int64_t(number.getZExtValue())
                         : number.getSExtValue()};
  }

  /// What the op folds to.
  Scalar fold(mlir::Operation *op, Scalar a, Scalar b) {
    llvm::SmallVector<mlir::OpFoldResult, 1> results;
    mlir::Attribute constants[] = {toAttr(a), toAttr(b)};
    EXPECT_TRUE(mlir::succeeded(op->fold(constants, results)));
    // In-place folds leave their result to an operand.
    auto value = mlir::dyn_cast<mlir::Value>(results.front());
    if (!value)
      return fromAttr(mlir::cast<mlir::Attribute>(results.front()));
    return value == op->getOperand(0) ? a : b;
  }

  mlir::Operation *build(ReduceKind kind) {
    mlir::Value x = block.addArgument(type, builder.getUnknownLoc());
    mlir::Value y = block.addArgument(type, builder.getUnknownLoc());
    return createCombiner(builder, builder.getUnknownLoc(), kind, x, y)
        .getDefiningOp();
  }

  static T toRuntime(Scalar value) {
    if constexpr (isFloat)
      return rt::convert<T>(value.f);
    else
      return rt::convert<T>(value.i);
  }
  template <typename U>
  static Scalar fromRuntime(U value) {
    if constexpr (isFloat)
      return {.f = static_cast<double>(rt::widen(value))};
    else
      return {.i = static_cast<int64_t>(rt::widen(value))};
  }

  /// Calls f.operator()<kind>().
  template <typename F>
  static auto dispatch(ReduceKind kind, F f) {
    using K = rt::Kind;
    switch (kind) {
    case ReduceKind::Sum:
      return f.template operator()<K::Sum>();
    case ReduceKind::Prod:
      return f.template operator()<K::Prod>();
    case ReduceKind::Max:
      return f.template operator()<K::Max>();
    case ReduceKind::Min:
      return f.template operator()<K::Min>();
    case ReduceKind::And:
    case ReduceKind::Or:
      if constexpr (!isFloat)
        return kind == ReduceKind::And ? f.template operator()<K::And>()
                                       : f.template operator()<K::Or>();
    }
    llvm_unreachable("no such reduction of floats");
  }

  Scalar combineAtRunTime(ReduceKind kind, Scalar a, Scalar b) {
    return dispatch(kind, [&]<rt::Kind k>() {
      return fromRuntime(rt::combine<k>(toRuntime(a), toRuntime(b)));
    });
  }

  mlir::MLIRContext context;
  mlir::Block block;
  mlir::OpBuilder builder;
  ElementType element;
  mlir::Type type;
};

using Types =
    testing::Types<double, float, rt::BFloat16, rt::Float16, rt::Float8E4M3FN,
                   rt::Float8E5M2, int64_t, int32_t, int16_t, int8_t, rt::Bool>;
struct TypeName {
  template <typename T>
  static std::string GetName(int /*index*/) {
    return TypeOf<T>::name;
  }
};

} // namespace

TYPED_TEST_SUITE(Algebra, Types, TypeName);

TYPED_TEST(Algebra, IsOneToThePassesTheRuntimeAndTheReference) {
  for (ReduceKind kind : this->kinds()) {
    mlir::Operation *op = this->build(kind);
    reference::Combiner combiner(kind, this->element);
    for (Scalar a : this->values())
      for (Scalar b : this->values()) {
        SCOPED_TRACE(stringifyReduceKind(kind).str() + " of " + this->str(a) +
                     " and " + this->str(b));
        Scalar expected = combiner.finish(combiner.combine(a, b));
        Scalar folded = this->fold(op, a, b);
        Scalar computed = this->combineAtRunTime(kind, a, b);
        EXPECT_TRUE(this->areSame(folded, expected))
            << "folds to " << this->str(folded) << " but the reference has "
            << this->str(expected);
        EXPECT_TRUE(this->areSame(computed, expected))
            << "the runtime has " << this->str(computed)
            << " but the reference has " << this->str(expected);
      }
  }
}

TYPED_TEST(Algebra, HasOneIdentity) {
  for (ReduceKind kind : this->kinds()) {
    SCOPED_TRACE(stringifyReduceKind(kind).str());
    reference::Combiner combiner(kind, this->element);
    Scalar expected = combiner.identity();
    Scalar constant = this->fromAttr(getIdentity(kind, this->type));
    Scalar computed = this->dispatch(kind, [&]<rt::Kind k>() {
      return this->fromRuntime(rt::identity<k, TypeParam>());
    });
    EXPECT_TRUE(this->areSame(constant, expected)) << this->str(constant);
    EXPECT_TRUE(this->areSame(computed, expected)) << this->str(computed);
  }
}

TYPED_TEST(Algebra, NeutralElementsChangeNothing) {
  for (ReduceKind kind : this->kinds()) {
    mlir::Operation *op = this->build(kind);
    TypedAttr neutral = getNeutralElement(kind, this->type);
    EXPECT_EQ(getNeutralElement(op), neutral);
    reference::Combiner combiner(kind, this->element);
    for (Scalar value : this->values()) {
      Scalar same = combiner.combine(this->fromAttr(neutral), value);
      EXPECT_TRUE(this->areSame(combiner.finish(same), value))
          << stringifyReduceKind(kind).str() << " of " << this->str(value);
    }
  }
}

/// Combiners that no ReduceKind has.
TEST(NeutralElement, IsThatOfEachCombiningOp) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect>();
  mlir::OpBuilder builder(&context);
  mlir::Block block;
  builder.setInsertionPointToStart(&block);
  mlir::Location loc = builder.getUnknownLoc();
  mlir::Value i = block.addArgument(builder.getI8Type(), loc);
  mlir::Value f = block.addArgument(builder.getF32Type(), loc);
  auto numberOf = [&](mlir::Operation *op) {
    return mlir::cast<mlir::IntegerAttr>(getNeutralElement(op)).getInt();
  };
  EXPECT_EQ(numberOf(mlir::arith::XOrIOp::create(builder, loc, i, i)), 0);
  EXPECT_EQ(numberOf(mlir::arith::MaxUIOp::create(builder, loc, i, i)), 0);
  EXPECT_EQ(numberOf(mlir::arith::MinUIOp::create(builder, loc, i, i)), -1);
  for (mlir::Operation *op :
       {mlir::arith::MaxNumFOp::create(builder, loc, f, f).getOperation(),
        mlir::arith::MinNumFOp::create(builder, loc, f, f).getOperation()})
    EXPECT_TRUE(
        mlir::cast<mlir::FloatAttr>(getNeutralElement(op)).getValue().isNaN());
  EXPECT_FALSE(getNeutralElement(
      mlir::arith::SubIOp::create(builder, loc, i, i).getOperation()));
}

TEST(ReduceKind, IsSpelledAsInPrograms) {
  for (ReduceKind kind : allKinds) {
    EXPECT_EQ(symbolizeReduceKind(stringifyReduceKind(kind)), kind);
    EXPECT_EQ(symbolizeReduceKind(static_cast<uint32_t>(kind)), kind);
  }
  EXPECT_EQ(stringifyReduceKind(ReduceKind::Prod), "prod");
  EXPECT_EQ(symbolizeReduceKind("average"), std::nullopt);
  EXPECT_EQ(symbolizeReduceKind(6), std::nullopt);
}

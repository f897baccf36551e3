// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with a bias and an activation, by cuBLASLt's epilogue and without.

#include "CUDA/Epilogue.h"
#include "CUDA/Matmul.h"
#include "CUDA/RunProduct.h"
#include "TestScratch.h"
#include "shoal/Runtime/ABI.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace shoal::rt;

namespace {

/// "EBI,EIO->EBO": letters E, B, O, I are 0 to 3.
struct Shape {
  int64_t e, b, o, i;

  EinsumSpec spec() const {
    constexpr ElementType f32 = ElementType::F32;
    return {
        {{f32, f32}, f32}, {e, b, o, i}, {{{0, 1, 3}, {0, 3, 2}}}, {0, 1, 2}};
  }
  EinsumCall einsum() const {
    return makeCall(spec(), planEinsum(spec(), deviceModel));
  }
};

std::vector<float> random(int64_t count) {
  static std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(engine);
  return values;
}

float activate(Activation activation, float x) {
  if (activation == Activation::Relu)
    return std::max(x, 0.0f);
  if (activation == Activation::None)
    return x;
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return static_cast<float>(0.5 * x * (1 + std::tanh(inner)));
}

/// `letters` of the bias; empty for none.
void check(const Shape &s, Activation activation, const Letters &letters) {
  std::vector<float> x = random(s.e * s.b * s.i), w = random(s.e * s.i * s.o),
                     bias = random(s.e * s.b * s.o), y(s.e * s.b * s.o, -1);
  EinsumCall call = s.einsum();
  call.activation = activation;
  if (!letters.empty())
    call.bias = biasLoops(s.spec(), letters);
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  if (letters.empty())
    shoal_rt_einsum(desc.data(), x.data(), w.data(), y.data(), scratch.data());
  else
    shoal_rt_einsum(desc.data(), x.data(), w.data(), bias.data(), y.data(),
                    scratch.data());
  std::vector<int64_t> strides = letterStrides(s.spec(), letters);
  for (int64_t e = 0; e < s.e; ++e)
    for (int64_t b = 0; b < s.b; ++b)
      for (int64_t o = 0; o < s.o; ++o) {
        float sum = 0;
        for (int64_t i = 0; i < s.i; ++i)
          sum += x[(e * s.b + b) * s.i + i] * w[(e * s.i + i) * s.o + o];
        if (!letters.empty())
          sum += bias[e * strides[0] + b * strides[1] + o * strides[2]];
        EXPECT_NEAR(y[(e * s.b + b) * s.o + o], activate(activation, sum), 1e-4)
            << e << ", " << b << ", " << o;
      }
}

constexpr Activation activations[] = {Activation::None, Activation::Relu,
                                      Activation::Gelu};

TEST(Epilogue, of_products) {
  for (Activation activation : activations) {
    check({1, 40, 24, 64}, activation, {});
    check({1, 40, 24, 64}, activation, {2});
    check({3, 40, 24, 64}, activation, {2});
    check({3, 40, 24, 64}, activation, {0, 2});
    check({3, 40, 24, 64}, activation, {2, 0});
  }
}

/// cuBLASLt's vector runs along the dense dimension alone.
TEST(Epilogue, of_other_biases) {
  for (Activation activation : activations) {
    check({1, 40, 24, 64}, activation, {1});
    check({3, 40, 24, 64}, activation, {0, 1});
    check({3, 40, 24, 64}, activation, {0});
  }
}

TEST(Epilogue, of_small_and_empty_sums) {
  check({1, 3, 2, 2}, Activation::Gelu, {2});
  check({1, 3, 2, 0}, Activation::Relu, {2});
  check({1, 3, 1, 5}, Activation::Relu, {2});
}

TEST(Epilogue, relu_keeps_nan) {
  EinsumCall call = Shape{1, 1, 1, 2}.einsum();
  call.activation = Activation::Relu;
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  std::vector<float> x = {NAN, 1}, w = {1, 1}, y = {0};
  shoal_rt_einsum(desc.data(), x.data(), w.data(), y.data(), scratch.data());
  EXPECT_TRUE(std::isnan(y[0]));
}

/// That the product itself did it, not a kernel behind it.
TEST(Epilogue, is_part_of_the_product) {
  Shape s{3, 64, 32, 128};
  EinsumCall call = s.einsum();
  ASSERT_TRUE(call.plan.gemm);
  std::vector<float> x = random(s.e * s.b * s.i), w = random(s.e * s.i * s.o),
                     bias = random(s.e * s.o), y(s.e * s.b * s.o);
  auto isPart = [&](const Letters &letters) {
    call.activation = Activation::Gelu;
    call.bias = biasLoops(s.spec(), letters);
    EinsumBuffers buffers;
    buffers.bias = bias.data();
    Epilogue epilogue = makeEpilogue(call, buffers, /*sums=*/nullptr);
    TestScratch scratch(call);
    Scratch taken(scratch.data(), scratchBytes(call, /*onDevice=*/true));
    ProductMemory memory =
        takeMemory(taken, scratchOf(call).product, /*onDevice=*/true);
    return runProduct(call.plan, call.types, x.data(), w.data(), y.data(),
                      memory, &epilogue)
        .all;
  };
  EXPECT_TRUE(isPart({2}));
  EXPECT_TRUE(isPart({0, 2}));
  EXPECT_FALSE(isPart({1}));
}

TEST(Epilogue, strides_of_a_bias) {
  Epilogue epilogue;
  float bias = 0;
  epilogue.bias = &bias;
  // A result [4, 5, 6] and a bias over its first and last dimension.
  epilogue.loops = {{4, {30, 6}}, {5, {6, 0}}, {6, {1, 1}}};
  EXPECT_EQ(epilogue.biasStride(4, 30), 6);
  EXPECT_EQ(epilogue.biasStride(5, 6), 0);
  EXPECT_EQ(epilogue.biasStride(6, 1), 1);
  EXPECT_EQ(epilogue.biasStride(1, 999), 0);
  EXPECT_EQ(epilogue.biasStride(30, 1), std::nullopt);
  EXPECT_EQ(epilogue.biasStride(20, 6), std::nullopt);
}

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of floats of 8 bits: which cuBLASLt takes as they are, and that all
// have the values of their definition, with scales, a bias and an activation.

#include "CUDA/Gemm.h"
#include "CUDA/RunProduct.h"
#include "TestScratch.h"
#include "shoal/Runtime/ABI.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace shoal::rt;

namespace {

using enum ElementType;
enum Letter : int64_t { E, M, N, K };

struct Case {
  std::array<ElementType, 2> types = {F8E4M3FN, F8E4M3FN};
  ElementType out = F32;
  /// Of E, M, N and K.
  std::vector<int64_t> sizes = {1, 64, 48, 128};
  Letters a = {E, M, K}, b = {E, K, N}, c = {E, M, N};
  int64_t numScales = 0;
  Activation activation = Activation::None;
  Letters bias = {};

  EinsumSpec spec() const { return {{types, out}, sizes, {a, b}, c}; }
  EinsumCall einsum() const {
    EinsumCall call = makeCall(spec(), planEinsum(spec(), deviceModel));
    call.numScales = numScales;
    if (!bias.empty())
      call.bias = biasLoops(spec(), bias);
    call.activation = activation;
    return call;
  }
};

template <typename T>
std::vector<T> random(int64_t count) {
  static std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  std::vector<T> values(count);
  for (T &value : values)
    value = convert<T>(normal(engine));
  return values;
}

/// Tensors as bytes, and as numbers.
struct Tensor {
  std::vector<char> bytes;
  std::vector<double> values;

  Tensor(ElementType type, int64_t count) {
    dispatchType(type, [&]<typename T>() {
      for (T value : random<T>(count)) {
        values.push_back(static_cast<double>(widen(value)));
        bytes.insert(bytes.end(), reinterpret_cast<char *>(&value),
                     reinterpret_cast<char *>(&value) + sizeof(T));
      }
    });
  }
  void readBack(ElementType type) {
    dispatchType(type, [&]<typename T>() {
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(
            widen(reinterpret_cast<const T *>(bytes.data())[i]));
    });
  }
};

double activate(Activation activation, double x) {
  if (activation == Activation::Relu)
    return std::max(x, 0.0);
  if (activation != Activation::Gelu)
    return x;
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

constexpr float scales[] = {0.375f, -2};

void call(const Case &c, const Tensor &a, const Tensor &b, const Tensor &bias,
          Tensor &out) {
  EinsumCall call = c.einsum();
  std::vector<int64_t> desc = encode(call);
  TestScratch scratch(call);
  const void *last[5] = {};
  size_t count = 0;
  for (int64_t i = 0; i < c.numScales; ++i)
    last[count++] = &scales[i];
  if (!c.bias.empty())
    last[count++] = bias.bytes.data();
  last[count++] = out.bytes.data();
  last[count] = scratch.data();
  shoal_rt_einsum(desc.data(), a.bytes.data(), b.bytes.data(), last[0], last[1],
                  last[2], last[3], last[4]);
}

void check(const Case &c) {
  EinsumSpec spec = c.spec();
  Tensor a(c.types[0], elementsOf(spec, c.a));
  Tensor b(c.types[1], elementsOf(spec, c.b));
  Tensor bias(c.out, elementsOf(spec, c.bias));
  Tensor out(c.out, elementsOf(spec, c.c));
  call(c, a, b, bias, out);
  out.readBack(c.out);
  auto sa = letterStrides(spec, c.a), sb = letterStrides(spec, c.b),
       sc = letterStrides(spec, c.c), sBias = letterStrides(spec, c.bias);
  double factor = c.numScales == 0 ? 1 : scales[0];
  factor *= c.numScales == 2 ? scales[1] : 1;
  double tolerance = c.out == F32 ? 1e-5 : c.out == BF16 ? 0x1p-8 : 0x1p-11;
  for (int64_t e = 0; e < c.sizes[E]; ++e)
    for (int64_t m = 0; m < c.sizes[M]; ++m)
      for (int64_t n = 0; n < c.sizes[N]; ++n) {
        auto at = [&](const std::vector<int64_t> &strides, int64_t k) {
          return e * strides[E] + m * strides[M] + n * strides[N] +
                 k * strides[K];
        };
        double sum = 0, size = 0;
        for (int64_t k = 0; k < c.sizes[K]; ++k) {
          double term = a.values[at(sa, k)] * b.values[at(sb, k)];
          sum += term, size += std::abs(term);
        }
        sum *= factor;
        if (!c.bias.empty())
          sum += bias.values[at(sBias, 0)];
        ASSERT_NEAR(out.values[at(sc, 0)], activate(c.activation, sum),
                    tolerance * (1 + std::abs(sum) + size * std::abs(factor)))
            << e << ", " << m << ", " << n;
      }
}

/// Whether the product itself was one of 8 bits.
bool isOfEightBits(const Case &c) {
  EinsumSpec spec = c.spec();
  EinsumCall call = makeCall(spec, planEinsum(spec, deviceModel));
  const ProductPlan &plan = call.plan;
  EXPECT_TRUE(plan.gemm);
  if (!plan.gemm)
    return false;
  TestScratch scratch(call);
  Scratch taken(scratch.data(), scratchBytes(call, /*onDevice=*/true));
  ProductMemory memory =
      takeMemory(taken, scratchOf(call).product, /*onDevice=*/true);
  Tensor a(c.types[0], elementsOf(spec, c.a));
  Tensor b(c.types[1], elementsOf(spec, c.b));
  Tensor out(c.out, elementsOf(spec, c.c));
  return runFloat8Gemm(*plan.gemm, computeType(spec.types),
                       {a.bytes.data(), c.types[0], b.bytes.data(), c.types[1],
                        out.bytes.data(), c.out},
                       memory, nullptr)
      .has_value();
}

const std::vector<Letters> ordersOfA = {{E, M, K}, {E, K, M}, {M, E, K}},
                           ordersOfB = {{E, K, N}, {E, N, K}, {K, E, N}},
                           ordersOfC = {{E, M, N}, {E, N, M}, {N, E, M}};

TEST(Float8, layouts_and_batches) {
  for (int64_t batches : {1, 3})
    for (const Letters &a : ordersOfA)
      for (const Letters &b : ordersOfB)
        for (const Letters &c : ordersOfC) {
          Case product;
          product.sizes[E] = batches;
          product.a = a, product.b = b, product.c = c;
          EXPECT_TRUE(isOfEightBits(product));
          check(product);
        }
}

TEST(Float8, types) {
  for (ElementType out : {F32, BF16, F16})
    for (std::array<ElementType, 2> types :
         {std::array{F8E4M3FN, F8E4M3FN}, std::array{F8E4M3FN, F8E5M2},
          std::array{F8E5M2, F8E4M3FN}, std::array{F8E5M2, F8E5M2}}) {
      Case product{.types = types, .out = out};
      EXPECT_EQ(isOfEightBits(product), (types != std::array{F8E5M2, F8E5M2}));
      check(product);
      product.sizes = {2, 3, 5, 7}; // by loops
      check(product);
      product.sizes = {1, 48, 40, 0};
      check(product);
    }
  check({.types = {F8E4M3FN, F8E5M2}, .out = F64});
}

TEST(Float8, sizes_that_are_not_multiples_of_16) {
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{1, 64, 48, 136},
                                     {1, 72, 48, 128},
                                     {1, 64, 56, 128}}) {
    Case product{.sizes = sizes};
    EXPECT_FALSE(isOfEightBits(product));
    check(product);
  }
}

TEST(Float8, scales_biases_and_activations) {
  for (ElementType out : {F32, BF16, F16})
    for (int64_t k : {128, 136, 5})
      for (int64_t numScales : {1, 2})
        for (Activation activation :
             {Activation::None, Activation::Relu, Activation::Gelu})
          for (const Letters &bias : {Letters{}, Letters{N}, Letters{E, M}})
            check({.out = out,
                   .sizes = {2, 64, 48, k},
                   .numScales = numScales,
                   .activation = activation,
                   .bias = bias});
}

/// What rounding to f16 in front of the scale would lose.
TEST(Float8, scales_come_before_rounding) {
  for (int64_t k : {2048, 2040, 5}) {
    Case c{.types = {F8E5M2, F8E5M2},
           .out = F16,
           .sizes = {1, 16, 16, k},
           .numScales = 1};
    std::vector<Float8E5M2> a(16 * k, convert<Float8E5M2>(16384.0f)), b = a;
    std::vector<Float16> out(256);
    EinsumCall call = c.einsum();
    std::vector<int64_t> desc = encode(call);
    TestScratch scratch(call);
    float scale = 0x1p-28f;
    shoal_rt_einsum(desc.data(), a.data(), b.data(), &scale, out.data(),
                    scratch.data());
    EXPECT_EQ(widen(out[7]), static_cast<float>(k)) << k;
  }
}

} // namespace

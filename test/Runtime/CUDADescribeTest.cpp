// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --describe says of products.

#include "CUDA/DescribeProducts.h"
#include "Program/Calls.h"
#include "Program/Numeric.h"
#include "shoal/Products/PlanEinsum.h"

#include <gtest/gtest.h>

using namespace shoal::rt;

namespace {

/// "Eij,Ejk->Eik", whose letters are E, i, j and k.
EinsumSpec specOf(ElementType in, ElementType out, std::vector<int64_t> sizes) {
  return {
      {{in, in}, out}, std::move(sizes), {{{0, 1, 2}, {0, 2, 3}}}, {0, 1, 3}};
}

EinsumCall einsum(ElementType in, ElementType out, std::vector<int64_t> sizes) {
  EinsumSpec spec = specOf(in, out, std::move(sizes));
  return makeCall(spec, planEinsum(spec, deviceModel));
}

/// The same with an epilogue.
EinsumCall einsum(ElementType in, ElementType out, std::vector<int64_t> sizes,
                  int64_t numScales, const Letters &bias,
                  Activation activation) {
  EinsumCall call = einsum(in, out, sizes);
  call.numScales = numScales;
  call.bias = biasLoops(specOf(in, out, std::move(sizes)), bias);
  call.activation = activation;
  return call;
}

/// The lines behind the first.
std::string describe(const EinsumCall &call, const std::string &archs,
                     bool tf32 = false) {
  Program program;
  program.cuda.arch = archs;
  program.cuda.tf32 = tf32;
  program.products = {{/*isRagged=*/false, encode(call), "f.mlir:3:8"}};
  std::string text = describeProducts(program);
  EXPECT_TRUE(text.starts_with("products on " + archs + ":\n"));
  return text.substr(text.find('\n') + 1);
}

TEST(DescribeProducts, nothing_of_no_products) {
  EXPECT_EQ(describeProducts({}), "");
}

TEST(DescribeProducts, floats) {
  EinsumCall f32 = einsum(ElementType::F32, ElementType::F32, {8, 64, 128, 96});
  EXPECT_EQ(describe(f32, "sm_80,sm_90"),
            "  f.mlir:3:8: 8 times [64, 128] x [128, 96], cuBLASLt in f32\n");
  EXPECT_EQ(describe(f32, "sm_90", /*tf32=*/true),
            "  f.mlir:3:8: 8 times [64, 128] x [128, 96], cuBLASLt in TF32\n");
}

TEST(DescribeProducts, integers_are_loops) {
  EXPECT_EQ(
      describe(einsum(ElementType::I32, ElementType::I32, {1, 64, 128, 96}),
               "sm_90"),
      "  f.mlir:3:8: i32, a loop kernel\n");
}

TEST(DescribeProducts, bias_and_activation) {
  // The letters of the bias: one for each column, or for each row.
  EinsumCall columns = einsum(ElementType::F32, ElementType::F32,
                              {1, 64, 128, 96}, 0, {3}, Activation::Relu);
  EXPECT_EQ(describe(columns, "sm_90"),
            "  f.mlir:3:8: [64, 128] x [128, 96], cuBLASLt in f32 with bias "
            "and relu\n");
  EinsumCall rows = einsum(ElementType::F32, ElementType::F32, {1, 64, 128, 96},
                           0, {1}, Activation::Gelu);
  EXPECT_EQ(describe(rows, "sm_90"),
            "  f.mlir:3:8: [64, 128] x [128, 96], cuBLASLt in f32; a kernel "
            "for bias and gelu\n");
}

TEST(DescribeProducts, eight_bits) {
  EinsumCall scaled = einsum(ElementType::F8E4M3FN, ElementType::BF16,
                             {1, 64, 128, 96}, 2, {3}, Activation::Relu);
  EXPECT_EQ(describe(scaled, "sm_90"),
            "  f.mlir:3:8: [64, 128] x [128, 96], cuBLASLt in 8 bits with two "
            "scales, bias and relu\n");
  EXPECT_EQ(describe(scaled, "sm_80,sm_90,sm_100"),
            "  f.mlir:3:8: on sm_80: [64, 128] x [128, 96], cuBLASLt in bf16, "
            "not in 8 bits: GPUs before sm_89 have none; a kernel for two "
            "scales, bias and relu\n"
            "  f.mlir:3:8: on sm_90, sm_100: [64, 128] x [128, 96], cuBLASLt "
            "in 8 bits with two scales, bias and relu\n");
  // To a result of f32, cuBLASLt adds a bias of bf16.
  EinsumCall wide = einsum(ElementType::F8E4M3FN, ElementType::F32,
                           {1, 64, 128, 96}, 1, {3}, Activation::None);
  EXPECT_EQ(describe(wide, "sm_90"),
            "  f.mlir:3:8: [64, 128] x [128, 96], cuBLASLt in 8 bits with a "
            "scale; a kernel for bias\n");
}

TEST(DescribeProducts, eight_bits_that_are_converted) {
  EXPECT_EQ(describe(einsum(ElementType::F8E4M3FN, ElementType::F16,
                            {1, 64, 100, 96}),
                     "sm_90"),
            "  f.mlir:3:8: [64, 100] x [100, 96], cuBLASLt in f16, not in 8 "
            "bits: sums: 100 is not a multiple of 16\n");
  EXPECT_EQ(
      describe(einsum(ElementType::F8E5M2, ElementType::F32, {1, 64, 128, 96}),
               "sm_90"),
      "  f.mlir:3:8: [64, 128] x [128, 96], cuBLASLt in bf16, not in 8 "
      "bits: both operands are f8E5M2\n");
}

} // namespace

// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (
    tensor<3xf32> {shoal.name = "addf"}, tensor<3xf32> {shoal.name = "subf"},
    tensor<3xf32> {shoal.name = "mulf"}, tensor<3xf32> {shoal.name = "divf"},
    tensor<3xf32> {shoal.name = "remf"}, tensor<3xf32> {shoal.name = "negf"},
    tensor<4xf32> {shoal.name = "maximumf"}, tensor<4xf32> {shoal.name = "minimumf"},
    tensor<4xf32> {shoal.name = "maxnumf"}, tensor<4xf32> {shoal.name = "minnumf"},
    tensor<4xi1> {shoal.name = "oeq"}, tensor<4xi1> {shoal.name = "ueq"},
    tensor<4xi1> {shoal.name = "olt"}, tensor<4xi1> {shoal.name = "uge"},
    tensor<4xi1> {shoal.name = "one"}, tensor<4xi1> {shoal.name = "une"},
    tensor<4xi1> {shoal.name = "ord"}, tensor<4xi1> {shoal.name = "uno"},
    tensor<f32> {shoal.name = "f32"}, tensor<bf16> {shoal.name = "bf16"},
    tensor<f16> {shoal.name = "f16"}, tensor<f64> {shoal.name = "f64"}) {
  %a = arith.constant dense<[1.0, -7.5, 0.0]> : tensor<3xf32>
  %b = arith.constant dense<[4.0, 2.0, 0.0]> : tensor<3xf32>
  // CHECK: addf: tensor<3xf32> = [5, -5.5, 0]
  %addf = arith.addf %a, %b : tensor<3xf32>
  // CHECK: subf: tensor<3xf32> = [-3, -9.5, 0]
  %subf = arith.subf %a, %b : tensor<3xf32>
  // CHECK: mulf: tensor<3xf32> = [4, -15, 0]
  %mulf = arith.mulf %a, %b : tensor<3xf32>
  // CHECK: divf: tensor<3xf32> = [0.25, -3.75, nan]
  %divf = arith.divf %a, %b : tensor<3xf32>
  // CHECK: remf: tensor<3xf32> = [1, -1.5, nan]
  %remf = arith.remf %a, %b : tensor<3xf32>
  // CHECK: negf: tensor<3xf32> = [-1, 7.5, -0]
  %negf = arith.negf %a : tensor<3xf32>

  // maximumf passes NaN on and orders -0 before 0; maxnumf drops NaN.
  %p = arith.constant dense<[1.0, 0x7FC00000, -0.0, 0x7FC00000]> : tensor<4xf32>
  %q = arith.constant dense<[2.0, 3.0, 0.0, 0x7FC00000]> : tensor<4xf32>
  // CHECK: maximumf: tensor<4xf32> = [2, nan, 0, nan]
  %maximumf = arith.maximumf %p, %q : tensor<4xf32>
  // CHECK: minimumf: tensor<4xf32> = [1, nan, -0, nan]
  %minimumf = arith.minimumf %q, %p : tensor<4xf32>
  // CHECK: maxnumf: tensor<4xf32> = [2, 3, 0, nan]
  %maxnumf = arith.maxnumf %p, %q : tensor<4xf32>
  // CHECK: minnumf: tensor<4xf32> = [1, 3, -0, nan]
  %minnumf = arith.minnumf %p, %q : tensor<4xf32>

  // CHECK: oeq: tensor<4xi1> = [0, 0, 1, 0]
  %oeq = arith.cmpf oeq, %p, %q : tensor<4xf32>
  // CHECK: ueq: tensor<4xi1> = [0, 1, 1, 1]
  %ueq = arith.cmpf ueq, %p, %q : tensor<4xf32>
  // CHECK: olt: tensor<4xi1> = [1, 0, 0, 0]
  %olt = arith.cmpf olt, %p, %q : tensor<4xf32>
  // CHECK: uge: tensor<4xi1> = [0, 1, 1, 1]
  %uge = arith.cmpf uge, %p, %q : tensor<4xf32>
  // CHECK: one: tensor<4xi1> = [1, 0, 0, 0]
  %one = arith.cmpf one, %p, %q : tensor<4xf32>
  // CHECK: une: tensor<4xi1> = [1, 1, 0, 1]
  %une = arith.cmpf une, %p, %q : tensor<4xf32>
  // CHECK: ord: tensor<4xi1> = [1, 0, 1, 0]
  %ord = arith.cmpf ord, %p, %q : tensor<4xf32>
  // CHECK: uno: tensor<4xi1> = [0, 1, 0, 1]
  %uno = arith.cmpf uno, %p, %q : tensor<4xf32>

  // Every result is rounded to its type: 2^24 + 1, 2^8 + 1 and 2^11 + 1 lie
  // halfway between two numbers of their types and go to the even one.
  %big32 = arith.constant dense<16777216.0> : tensor<f32>
  %one32 = arith.constant dense<1.0> : tensor<f32>
  %sum32 = arith.addf %big32, %one32 : tensor<f32>
  // CHECK: f32: tensor<f32> = 0
  %f32 = arith.subf %sum32, %big32 : tensor<f32>
  %big16 = arith.constant dense<256.0> : tensor<bf16>
  %one16 = arith.constant dense<1.0> : tensor<bf16>
  %sum16 = arith.addf %big16, %one16 : tensor<bf16>
  // CHECK: bf16: tensor<bf16> = 0
  %bf16 = arith.subf %sum16, %big16 : tensor<bf16>
  %bigh = arith.constant dense<2048.0> : tensor<f16>
  %oneh = arith.constant dense<1.0> : tensor<f16>
  %sumh = arith.addf %bigh, %oneh : tensor<f16>
  // CHECK: f16: tensor<f16> = 0
  %f16 = arith.subf %sumh, %bigh : tensor<f16>
  %big64 = arith.constant dense<16777216.0> : tensor<f64>
  %one64 = arith.constant dense<1.0> : tensor<f64>
  %sum64 = arith.addf %big64, %one64 : tensor<f64>
  // CHECK: f64: tensor<f64> = 1
  %f64 = arith.subf %sum64, %big64 : tensor<f64>
  return %addf, %subf, %mulf, %divf, %remf, %negf, %maximumf, %minimumf,
    %maxnumf, %minnumf, %oeq, %ueq, %olt, %uge, %one, %une, %ord, %uno, %f32,
    %bf16, %f16, %f64
    : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>,
      tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>,
      tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>,
      tensor<f32>, tensor<bf16>, tensor<f16>, tensor<f64>
}

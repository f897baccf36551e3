// RUN: shoal-run %s --print | FileCheck %s

// threefry-2x32 with 20 rounds against the known answers of Random123
// (kat_vectors) and of an independent implementation that meets them.

// The words of the counters 0, 1, 2 for the key (0, 0), as (x0 << 32 | x1) >> 11;
// the first is the known answer 6b200159 99ba4efe.
func.func @main() -> (tensor<3xi64> {shoal.name = "key_zero"}, tensor<2x3xi64> {shoal.name = "row_major"},
                      tensor<6xi32> {shoal.name = "f32"}, tensor<6xi32> {shoal.name = "bf16"},
                      tensor<6xi32> {shoal.name = "f16"}, tensor<6xf32> {shoal.name = "normal_f32"},
                      tensor<3xi64> {shoal.name = "normal_f64"}, tensor<6xi32> {shoal.name = "long_key"}) {
  // 2^53, 2^24, 2^11 and 2^8 make integers of the fractions.
  %zero = arith.constant dense<0> : tensor<2xi32>
  %u0 = shoal.random uniform %zero : tensor<2xi32> -> tensor<3xf64>
  %p53 = arith.constant dense<9007199254740992.0> : tensor<3xf64>
  %s0 = arith.mulf %u0, %p53 : tensor<3xf64>
  %key_zero = arith.fptosi %s0 : tensor<3xf64> to tensor<3xi64>
  // CHECK: key_zero: {{.*}} = [3769126584792905, 1948216257526626, 8694842745176520]

  // The key 13198a2e 03707344; counters in row-major order.
  %key = arith.constant dense<[320440878, 57701188]> : tensor<2xi32>
  %u1 = shoal.random uniform %key : tensor<2xi32> -> tensor<2x3xf64>
  %q53 = arith.constant dense<9007199254740992.0> : tensor<2x3xf64>
  %s1 = arith.mulf %u1, %q53 : tensor<2x3xf64>
  %row_major = arith.fptosi %s1 : tensor<2x3xf64> to tensor<2x3xi64>
  // CHECK{LITERAL}: = [[2296924975278856, 7383179275224163, 8889857989512270], [4865244253798138, 1872968638831718, 7403603273541691]]

  %u2 = shoal.random uniform %key : tensor<2xi32> -> tensor<6xf32>
  %p24 = arith.constant dense<16777216.0> : tensor<6xf32>
  %s2 = arith.mulf %u2, %p24 : tensor<6xf32>
  %f32 = arith.fptosi %s2 : tensor<6xf32> to tensor<6xi32>
  // CHECK: f32: {{.*}} = [4278356, 13752243, 16558650, 9062223, 3488675, 13790285]

  %u3 = shoal.random uniform %key : tensor<2xi32> -> tensor<6xbf16>
  %p8 = arith.constant dense<256.0> : tensor<6xbf16>
  %s3 = arith.mulf %u3, %p8 : tensor<6xbf16>
  %bf16 = arith.fptosi %s3 : tensor<6xbf16> to tensor<6xi32>
  // CHECK: bf16: {{.*}} = [65, 209, 252, 138, 53, 210]

  %u4 = shoal.random uniform %key : tensor<2xi32> -> tensor<6xf16>
  %p11 = arith.constant dense<2048.0> : tensor<6xf16>
  %s4 = arith.mulf %u4, %p11 : tensor<6xf16>
  %f16 = arith.fptosi %s4 : tensor<6xf16> to tensor<6xi32>
  // CHECK: f16: {{.*}} = [522, 1678, 2021, 1106, 425, 1683]

  %normal_f32 = shoal.random normal %key : tensor<2xi32> -> tensor<6xf32>
  // CHECK: normal_f32: {{.*}} = [0.316872, 1.48303, -2.81135, 1.17329, 0.421575, -1.62223]
  %n1 = shoal.random normal %key : tensor<2xi32> -> tensor<3xf64>
  %billion = arith.constant dense<1.0e9> : tensor<3xf64>
  %s6 = arith.mulf %n1, %billion : tensor<3xf64>
  %normal_f64 = arith.fptosi %s6 : tensor<3xf64> to tensor<3xi64>
  // CHECK: normal_f64: {{.*}} = [316871889, 1483026661, -2811347862]

  // The low words of an i64 key: 2^40 more changes nothing.
  %long = arith.constant dense<[1099832068654, 1099569328964]> : tensor<2xi64>
  %u5 = shoal.random uniform %long : tensor<2xi64> -> tensor<6xf32>
  %s5 = arith.mulf %u5, %p24 : tensor<6xf32>
  %long_key = arith.fptosi %s5 : tensor<6xf32> to tensor<6xi32>
  // CHECK: long_key: {{.*}} = [4278356, 13752243,
  return %key_zero, %row_major, %f32, %bf16, %f16, %normal_f32, %normal_f64, %long_key
    : tensor<3xi64>, tensor<2x3xi64>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xf32>, tensor<3xi64>, tensor<6xi32>
}

// RUN: shoal-run %s --random-inputs=5 --compare | FileCheck %s
// RUN: shoal-run %s --random-inputs=5 --print | FileCheck %s --check-prefix=VALUE

// Transforms along split and whole dimensions, of lines that 8 devices share
// unevenly, in one dimension and in three, of partial sums, and back.
// CHECK-NOT: too far apart
// CHECK: comes_back: {{.*}}: ok
// VALUE: comes_back: tensor<f64> = 1

shoal.mesh @mesh = <["x" = 2, "y" = 4]>

#rows = #shoal.sharding<@mesh, [{"x", "y"}, {}]>
#both = #shoal.sharding<@mesh, [{"x"}, {"y"}]>
#columns = #shoal.sharding<@mesh, [{}, {"x", "y"}]>
#volume = #shoal.sharding<@mesh, [{}, {"x"}, {"y"}]>

func.func @main(%a: tensor<11x13xf32> {shoal.name = "a", shoal.sharding = #rows},
                %b: tensor<11x13xf32> {shoal.name = "b", shoal.sharding = #both},
                %c: tensor<13x9xf32> {shoal.name = "c", shoal.sharding = #columns},
                %v: tensor<3x6x5xf64> {shoal.name = "v", shoal.sharding = #volume})
    -> (tensor<11x13xf32> {shoal.name = "rows", shoal.sharding = #rows}, tensor<11x13xf32> {shoal.name = "rows_imag"},
        tensor<11x13xf32> {shoal.name = "columns", shoal.sharding = #columns},
        tensor<11x13xf32> {shoal.name = "matrix", shoal.sharding = #both},
        tensor<11x5xf32> {shoal.name = "sums", shoal.sharding = #both},
        tensor<3x6x5xf64> {shoal.name = "volume", shoal.sharding = #volume},
        tensor<f64> {shoal.name = "comes_back"}) {
  %rows:2 = shoal.fft %a, %b dim = 1 : (tensor<11x13xf32>, tensor<11x13xf32>) -> (tensor<11x13xf32>, tensor<11x13xf32>)
  %columns:2 = shoal.fft %b, %a dim = 0 {inverse} : (tensor<11x13xf32>, tensor<11x13xf32>) -> (tensor<11x13xf32>, tensor<11x13xf32>)
  %matrix:2 = shoal.fft %rows#0, %rows#1 dim = 0 : (tensor<11x13xf32>, tensor<11x13xf32>) -> (tensor<11x13xf32>, tensor<11x13xf32>)
  %product = shoal.einsum "ik,kj->ij" %a, %c : (tensor<11x13xf32>, tensor<13x9xf32>) -> tensor<11x9xf32>
  %sums:2 = shoal.fft %product dim = 1 : (tensor<11x9xf32>) -> (tensor<11x5xf32>, tensor<11x5xf32>)
  %v0:2 = shoal.fft %v dim = 2 : (tensor<3x6x5xf64>) -> (tensor<3x6x3xf64>, tensor<3x6x3xf64>)
  %v1:2 = shoal.fft %v0#0, %v0#1 dim = 1 : (tensor<3x6x3xf64>, tensor<3x6x3xf64>) -> (tensor<3x6x3xf64>, tensor<3x6x3xf64>)
  %v2:2 = shoal.fft %v1#0, %v1#1 dim = 0 : (tensor<3x6x3xf64>, tensor<3x6x3xf64>) -> (tensor<3x6x3xf64>, tensor<3x6x3xf64>)
  %v3:2 = shoal.fft %v2#0, %v2#1 dim = 0 {inverse} : (tensor<3x6x3xf64>, tensor<3x6x3xf64>) -> (tensor<3x6x3xf64>, tensor<3x6x3xf64>)
  %v4:2 = shoal.fft %v3#0, %v3#1 dim = 1 {inverse} : (tensor<3x6x3xf64>, tensor<3x6x3xf64>) -> (tensor<3x6x3xf64>, tensor<3x6x3xf64>)
  %v5 = shoal.fft %v4#0, %v4#1 dim = 2 {inverse} : (tensor<3x6x3xf64>, tensor<3x6x3xf64>) -> tensor<3x6x5xf64>
  %difference = arith.subf %v5, %v : tensor<3x6x5xf64>
  %size = math.absf %difference : tensor<3x6x5xf64>
  %largest = shoal.reduce max %size dims = [0, 1, 2] : tensor<3x6x5xf64> -> tensor<f64>
  // 1 where all that went there came back.
  %tiny = arith.constant dense<1.0e-12> : tensor<f64>
  %comes = arith.cmpf olt, %largest, %tiny : tensor<f64>
  %comes_back = arith.uitofp %comes : tensor<i1> to tensor<f64>
  return %rows#0, %rows#1, %columns#0, %matrix#1, %sums#1, %v5, %comes_back : tensor<11x13xf32>, tensor<11x13xf32>,
    tensor<11x13xf32>, tensor<11x13xf32>, tensor<11x5xf32>, tensor<3x6x5xf64>, tensor<f64>
}

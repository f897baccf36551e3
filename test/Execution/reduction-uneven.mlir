// RUN: shoal-run %s --random-inputs=5 --compare | FileCheck %s

// What no localize model is written for: the factor rules of reduce and einsum
// say what padding counts as, along one axis, along several, and along two axes
// of one dimension. Inputs are split by their annotations; 8 devices divide no
// dimension.
// CHECK-NOT: too far apart
// CHECK: and: {{.*}}: ok

shoal.mesh @mesh = <["x" = 2, "y" = 4]>

#rows = #shoal.sharding<@mesh, [{"x", "y"}, {}]>
#both = #shoal.sharding<@mesh, [{"x"}, {"y"}]>
#swapped = #shoal.sharding<@mesh, [{"y"}, {"x"}]>

func.func @main(%a: tensor<11x5xf32> {shoal.name = "a", shoal.sharding = #rows},
                %b: tensor<11x5xf32> {shoal.name = "b", shoal.sharding = #both},
                %c: tensor<5x7xbf16> {shoal.name = "c", shoal.sharding = #swapped},
                %i: tensor<11x5xi8> {shoal.name = "i", shoal.sharding = #both},
                %t: tensor<11x5xi1> {shoal.name = "t", shoal.sharding = #rows})
    -> (tensor<5xf32> {shoal.name = "sum_rows"}, tensor<f32> {shoal.name = "sum_all"},
        tensor<5xf32> {shoal.name = "max_rows"}, tensor<f32> {shoal.name = "max_all"},
        tensor<f32> {shoal.name = "min_all"}, tensor<11xf32> {shoal.name = "prod_columns"},
        tensor<7xbf16> {shoal.name = "max_bf16"}, tensor<i8> {shoal.name = "prod_i8"},
        tensor<i8> {shoal.name = "min_i8"}, tensor<i8> {shoal.name = "or_i8"},
        tensor<5x5xf32> {shoal.name = "product"}, tensor<f32> {shoal.name = "dot"},
        tensor<5xi1> {shoal.name = "any"}, tensor<i1> {shoal.name = "and"}) {
  %sum_rows = shoal.reduce sum %a dims = [0] : tensor<11x5xf32> -> tensor<5xf32>
  %sum_all = shoal.reduce sum %b dims = [0, 1] : tensor<11x5xf32> -> tensor<f32>
  %max_rows = shoal.reduce max %a dims = [0] : tensor<11x5xf32> -> tensor<5xf32>
  %negative = arith.negf %b : tensor<11x5xf32>
  %exp = math.exp %b : tensor<11x5xf32>
  // Below zero, so that a mask of zeros would win.
  %below = arith.negf %exp : tensor<11x5xf32>
  %max_all = shoal.reduce max %below dims = [0, 1] : tensor<11x5xf32> -> tensor<f32>
  %min_all = shoal.reduce min %exp dims = [0, 1] : tensor<11x5xf32> -> tensor<f32>
  %prod_columns = shoal.reduce prod %negative dims = [1] : tensor<11x5xf32> -> tensor<11xf32>
  %max_bf16 = shoal.reduce max %c dims = [0] : tensor<5x7xbf16> -> tensor<7xbf16>
  %prod_i8 = shoal.reduce prod %i dims = [0, 1] : tensor<11x5xi8> -> tensor<i8>
  %min_i8 = shoal.reduce min %i dims = [0, 1] : tensor<11x5xi8> -> tensor<i8>
  %or_i8 = shoal.reduce or %i dims = [0, 1] : tensor<11x5xi8> -> tensor<i8>
  %product = shoal.einsum "KI,KJ->IJ" %a, %b : (tensor<11x5xf32>, tensor<11x5xf32>) -> tensor<5x5xf32>
  %dot = shoal.einsum "KI,KI->" %b, %exp : (tensor<11x5xf32>, tensor<11x5xf32>) -> tensor<f32>
  %any = shoal.reduce or %t dims = [0] : tensor<11x5xi1> -> tensor<5xi1>
  %and = shoal.reduce and %t dims = [0, 1] : tensor<11x5xi1> -> tensor<i1>
  return %sum_rows, %sum_all, %max_rows, %max_all, %min_all, %prod_columns, %max_bf16,
         %prod_i8, %min_i8, %or_i8, %product, %dot, %any, %and
      : tensor<5xf32>, tensor<f32>, tensor<5xf32>, tensor<f32>, tensor<f32>, tensor<11xf32>,
        tensor<7xbf16>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<5x5xf32>, tensor<f32>,
        tensor<5xi1>, tensor<i1>
}

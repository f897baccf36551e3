// RUN: shoal-opt %s --shoal-differentiate="function=products mode=vjp" --canonicalize | FileCheck %s --check-prefix=PRODUCTS
// RUN: shoal-opt %s --shoal-differentiate="function=cut mode=vjp" --canonicalize | FileCheck %s --check-prefix=CUT
// RUN: shoal-opt %s --shoal-differentiate="function=pooled mode=vjp" -o %t.mlir
// RUN: shoal-run %t.mlir --entry=pooled_vjp --compare --random-inputs=1 --tolerance=1e-5

shoal.mesh @mesh = <["x" = 3]>

// The windows' elements in lines, and of each the product of all others, from both ends.
// PRODUCTS-LABEL: func.func @products_vjp
// PRODUCTS: %[[LINES:.*]] = shoal.concatenate {{.*}} -> tensor<4x3xf32>
// PRODUCTS-DAG: shoal.cumulative prod %[[LINES]] dim = 1 {exclusive} : tensor<4x3xf32>
// PRODUCTS-DAG: shoal.cumulative prod %[[LINES]] dim = 1 {exclusive, reverse} : tensor<4x3xf32>
func.func @products(%x: tensor<6xf32>, %one: tensor<f32>) -> tensor<4xf32> {
  %y = shoal.reduce_window prod %x, %one window = [3] : tensor<6xf32>, tensor<f32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Negative padding may leave no row that a window reads.
// CUT-LABEL: func.func @cut_vjp
// CUT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1xf32>
// CUT: return %{{.*}}, %[[ZERO]]
func.func @cut(%x: tensor<1xf32>) -> tensor<2xf32> {
  %lowest = arith.constant dense<0xFF800000> : tensor<f32>
  %y = shoal.reduce_window max %x, %lowest window = [3] low = [-2] high = [5] : tensor<1xf32>, tensor<f32> -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// Dilated extrema, and what is scattered to selected places, on three devices.
func.func @pooled(%x: tensor<7x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>}, %s: tensor<6x5xf32>)
    -> tensor<7x6xf32> {
  %lowest = arith.constant dense<-1.0> : tensor<f32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %a = shoal.reduce_window max %x, %lowest window = [2, 2] high = [2, 3] window_dilation = [2, 3] : tensor<7x6xf32>, tensor<f32> -> tensor<7x6xf32>
  %b = shoal.select_and_scatter min %x, %s, %zero window = [2, 2] {last} : tensor<7x6xf32>, tensor<6x5xf32>, tensor<f32> -> tensor<7x6xf32>
  %y = arith.mulf %a, %b : tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}

// What every device can make by itself, a constant or a broadcast, is made
// once for each of its annotations, and not sent from one to the other.
//
// RUN: shoal-opt %s --shoal-partition --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --entry=constant_in_turn --compare
// RUN: shoal-run %s --entry=broadcast_in_turn --random-inputs=1 --compare
// RUN: shoal-run %s --entry=broadcast_of_a_line --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 8]>

// BYTES-LABEL: @constant_in_turn
// BYTES: in all 0 bytes
// CHECK-LABEL: @constant_in_turn
// CHECK-DAG: %[[ROWS:.*]] = arith.constant dense<1.000000e+00> : tensor<8x64xf32>
// CHECK-DAG: %[[COLUMNS:.*]] = arith.constant dense<1.000000e+00> : tensor<64x8xf32>
// CHECK: return %[[ROWS]], %[[COLUMNS]]
func.func @constant_in_turn() -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c = arith.constant dense<1.0> : tensor<64x64xf32>
  %y = shoal.sharding_constraint %c <@mesh, [{"x"}, {}]> : tensor<64x64xf32>
  %z = shoal.sharding_constraint %y <@mesh, [{}, {"x"}]> : tensor<64x64xf32>
  return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}

// BYTES-LABEL: @broadcast_in_turn
// BYTES: in all 0 bytes
// CHECK-LABEL: @broadcast_in_turn
// CHECK-DAG: shoal.broadcast_in_dim %arg0 dims = [] : tensor<f32> -> tensor<8x64xf32>
// CHECK-DAG: shoal.broadcast_in_dim %arg0 dims = [] : tensor<f32> -> tensor<64x8xf32>
func.func @broadcast_in_turn(%v: tensor<f32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c = shoal.broadcast_in_dim %v dims = [] : tensor<f32> -> tensor<64x64xf32>
  %y = shoal.sharding_constraint %c <@mesh, [{"x"}, {}]> : tensor<64x64xf32>
  %z = shoal.sharding_constraint %y <@mesh, [{}, {"x"}]> : tensor<64x64xf32>
  return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}

// The line is sent, 7 of 8 elements each, which is less than what is made of it.
// BYTES-LABEL: @broadcast_of_a_line
// BYTES-NEXT: all_gather {"x"} : tensor<8xf32> -> tensor<64xf32> 224 bytes
// BYTES: in all 224 bytes
func.func @broadcast_of_a_line(%v: tensor<64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %c = shoal.broadcast_in_dim %v dims = [0] : tensor<64xf32> -> tensor<64x64xf32>
  %y = shoal.sharding_constraint %c <@mesh, [{"x"}, {}]> : tensor<64x64xf32>
  %z = shoal.sharding_constraint %y <@mesh, [{}, {"x"}]> : tensor<64x64xf32>
  return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}

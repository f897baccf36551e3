// RUN: shoal-opt %s --shoal-assign --shoal-verify-assignment | FileCheck %s
// RUN: shoal-opt %s --shoal-assign --shoal-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES

// Meshes that differ in the order of their devices: an annotation moves its
// value there, and a reshard brings it back.

shoal.mesh @mesh = <["x" = 4]>
shoal.mesh @swapped = <["x" = 4], device_ids = [1, 0, 3, 2]>

// CHECK-LABEL: func @there_and_back(
// CHECK: shoal.reshard %{{.*}} <@mesh, [{"x"}, {}]> -> <@swapped, [{"x"}, {}]>
// CHECK-NEXT: shoal.sharding_constraint {{[^<]*}}<@swapped, [{"x"}, {}]> {
// CHECK-SAME: shoal.shardings = [#shoal.sharding<@swapped, [{"x"}, {}]>]
// CHECK: shoal.reshard %{{.*}} <@swapped, [{"x"}, {}]> -> <@mesh, [{"x"}, {}]>
// CHECK: math.exp {{.*}}#shoal.sharding<@mesh, [{"x"}, {}]>
// BYTES: @there_and_back
// BYTES: reshards send 16 bytes per device
func.func @there_and_back(%x: tensor<4x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>})
    -> (tensor<4x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>}) {
  %y = shoal.sharding_constraint %x <@swapped, [{"x"}, {} ]> : tensor<4x2xf32>
  %z = math.exp %y : tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}

// CHECK-LABEL: func @a_free_result_stays_there(
// CHECK-SAME: -> (tensor<4xf32> {shoal.sharding = #shoal.sharding<@swapped, [{"x"}]>})
// CHECK-NEXT: = shoal.reshard
// CHECK-NEXT: = shoal.sharding_constraint
// CHECK-NEXT: return
func.func @a_free_result_stays_there(%x: tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %y = shoal.sharding_constraint %x <@swapped, [{"x"}]> : tensor<4xf32>
  return %y : tensor<4xf32>
}

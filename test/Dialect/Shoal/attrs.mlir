// RUN: shoal-opt %s | shoal-opt | FileCheck %s

// Each form of the mesh and sharding attributes survives a round trip.

// CHECK: shoal.mesh @mesh_2x4 = <["data" = 2, "expert" = 4]>
shoal.mesh @mesh_2x4 = <["data" = 2, "expert" = 4]>
// CHECK: shoal.mesh @mesh_16 = <["x" = 16]>
shoal.mesh @mesh_16 = <["x" = 16]>
// CHECK: shoal.mesh @ordered = <["x" = 4], device_ids = [3, 1, 0, 2]>
shoal.mesh @ordered = <["x" = 4], device_ids = [3, 1, 0, 2]>
// CHECK: shoal.mesh @one_device = <[]>
shoal.mesh @one_device = <[]>

// CHECK-LABEL: func @shardings(
// CHECK-SAME: {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh_2x4, [{"data"}, {}]>}
// CHECK-SAME: -> (tensor<8x12xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh_2x4, [{"expert", "data"}, {}]>})
func.func @shardings(%x: tensor<8x12xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh_2x4, [{"data"}, {}]>})
    -> (tensor<8x12xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh_2x4, [{"expert", "data"}, {}]>}) {
  // CHECK: <@mesh_2x4, [{"data", ?}, {?}]>
  %0 = shoal.sharding_constraint %x <@mesh_2x4, [{"data", ?}, {?}]> : tensor<8x12xf32>
  // CHECK: <@mesh_2x4, [{"data"}p2, {?}p1]>
  %1 = shoal.sharding_constraint %0 <@mesh_2x4, [{"data"}p2, {?}p1]> : tensor<8x12xf32>
  // CHECK: <@mesh_16, [{"x":(1)2, "x":(8)2}, {"x":(2)4}]>
  %2 = shoal.sharding_constraint %1 <@mesh_16, [{"x":(1)2, "x":(8)2}, {"x":(2)4}]> : tensor<8x12xf32>
  // CHECK: <@mesh_2x4, [{}, {?}], replicated = {"data", "expert"}>
  %3 = shoal.sharding_constraint %2 <@mesh_2x4, [{}, {?}], replicated = {"data", "expert"}> : tensor<8x12xf32>
  return %3 : tensor<8x12xf32>
}

// CHECK-LABEL: func @chosen(
// CHECK: math.exp %{{.*}} {shoal.shardings = [#shoal.sharding<@mesh_2x4, [{"data"}], partial = {"expert"}>]}
func.func @chosen(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {shoal.shardings = [#shoal.sharding<@mesh_2x4, [{"data"}], partial = {"expert"}>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

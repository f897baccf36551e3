// RUN: shoal-opt %s --split-input-file --shoal-unify-meshes | FileCheck %s

// Axes of the second mesh are digits of the same positions: 8 devices as 4 x 2
// and as 2 x 4. What else a sharding says stays.

// CHECK: shoal.mesh @attention = <["dp" = 4, "tp" = 2]>
// CHECK-NOT: shoal.mesh
shoal.mesh @attention = <["dp" = 4, "tp" = 2]>
shoal.mesh @experts = <["edp" = 2, "ep" = 4, "pp" = 1]>

// CHECK-LABEL: func.func @f
// CHECK-SAME: <@attention, [{"dp":(1)2}, {"dp":(2)2, "tp"}]>
// CHECK-SAME: <@attention, [{"tp"}, {}]>
func.func @f(%x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@experts, [{"edp"}, {"ep"}]>},
             %y: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@attention, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  // CHECK: <@attention, [{?}, {"dp":(2)2, ?}p1], replicated = {"tp"}>
  // CHECK-SAME: shoal.written = ["<@experts, [{?}, {\22ep\22:(1)2, ?}p1], replicated = {\22ep\22:(2)2}>"]
  %a = shoal.sharding_constraint %x <@experts, [{?}, {"ep":(1)2, ?}p1], replicated = {"ep":(2)2}> : tensor<8x16xf32>
  // CHECK: <@attention, [{}, {}]>
  %b = shoal.sharding_constraint %y <@experts, [{"pp"}, {}]> : tensor<8x16xf32>
  %c = arith.addf %a, %b : tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}

// -----

// A mesh in another order of devices keeps it, over the first one's axes.

// CHECK: shoal.mesh @rows = <["x" = 2, "y" = 2]>
// CHECK: shoal.mesh @reversed = <["x" = 2, "y" = 2], device_ids = [3, 2, 1, 0]>
shoal.mesh @rows = <["x" = 2, "y" = 2]>
shoal.mesh @reversed = <["all" = 4], device_ids = [3, 2, 1, 0]>

// CHECK-LABEL: func.func @g
func.func @g(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: <@reversed, [{"x", "y"}]>
  %a = shoal.sharding_constraint %x <@reversed, [{"all"}]> : tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

// Programs of one device name the groups of their collectives as they like.

// CHECK: shoal.mesh @a
// CHECK: shoal.mesh @b
shoal.mesh @a = <["x" = 4]>
shoal.mesh @b = <["y" = 2, "z" = 2]>

func.func @local(%x: tensor<8xf32>) -> tensor<8xf32> attributes {shoal.spmd} {
  // CHECK: @b {"z"}
  %a = spmd.all_reduce sum @b {"z"} %x : tensor<8xf32>
  return %a : tensor<8xf32>
}

// What is sent for ops along a split dimension. The types say how much.
//
// RUN: shoal-opt %s --split-input-file --shoal-import --shoal-partition | FileCheck %s

// Two devices: each gets the other's total, one row.

shoal.mesh @mesh = <["x" = 2]>

// CHECK-LABEL: func.func @scan_of_two
func.func @scan_of_two(%x: tensor<31x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<31x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  // The padding of the last shard does not count.
  // CHECK: %[[ROWS:.*]] = arith.select {{.*}} : tensor<16x8xi1>, tensor<16x8xf32>
  // CHECK: %[[TOTAL:.*]] = shoal.reduce sum %[[ROWS]] dims = [0] : tensor<16x8xf32> -> tensor<8xf32>
  // CHECK: %[[ROW:.*]] = shoal.reshape %[[TOTAL]] : tensor<8xf32> -> tensor<1x8xf32>
  // CHECK: %[[ALL:.*]] = spmd.all_gather @mesh [{"x"}, {}] %[[ROW]] {why = "partial results of shoal.cumulative"} : tensor<1x8xf32> -> tensor<2x8xf32>
  // CHECK: %[[BEFORE:.*]] = shoal.cumulative sum %[[ALL]] dim = 0 {exclusive} : tensor<2x8xf32>
  // CHECK: %[[OWN:.*]] = spmd.all_slice @mesh [{"x"}, {}] %[[BEFORE]] : tensor<2x8xf32> -> tensor<1x8xf32>
  // CHECK: %[[CARRY:.*]] = shoal.broadcast_in_dim %[[OWN]] dims = [0, 1] : tensor<1x8xf32> -> tensor<16x8xf32>
  // CHECK: %[[LOCAL:.*]] = shoal.cumulative sum %[[ROWS]] dim = 0 : tensor<16x8xf32>
  // CHECK: arith.addf %[[CARRY]], %[[LOCAL]]
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0 = shoal.cumulative sum %x dim = 0 : tensor<31x8xf32>
  return %0 : tensor<31x8xf32>
}

// -----

// Of more devices each scans its part of all totals: 2 * 3/4 of a row is sent,
// by an all_gather it would be 3 rows.

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: func.func @scan_of_four
func.func @scan_of_four(%x: tensor<32x8xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32x8xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: spmd.all_to_all @mesh [{"x"} : 0 -> 1] {{.*}} : tensor<1x8xi32> -> tensor<4x2xi32>
  // CHECK: shoal.cumulative max {{.*}} dim = 0 {exclusive, reverse} : tensor<4x2xi32>
  // CHECK: spmd.all_to_all @mesh [{"x"} : 1 -> 0] {{.*}} : tensor<4x2xi32> -> tensor<1x8xi32>
  // CHECK: shoal.cumulative max %arg0 dim = 0 {exclusive, reverse} : tensor<8x8xi32>
  // CHECK: arith.maxsi
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0 = shoal.cumulative max %x dim = 0 {exclusive, reverse} : tensor<32x8xi32>
  return %0 : tensor<32x8xi32>
}

// CHECK-LABEL: func.func @scan_of_a_line
func.func @scan_of_a_line(%x: tensor<32xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<32xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // CHECK: spmd.all_gather @mesh [{"x"}] {{.*}} : tensor<1xi32> -> tensor<4xi32>
  // CHECK-NOT: spmd.all_gather
  // CHECK: return
  %0 = shoal.cumulative sum %x dim = 0 : tensor<32xi32>
  return %0 : tensor<32xi32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>

// Three candidates of each device, values and places.
// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<5x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<5x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<5x3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  // CHECK: shoal.top_k %arg0 {k = 3 : i64} : tensor<5x20xf32> -> tensor<5x3xf32>, tensor<5x3xi32>
  // CHECK: spmd.all_gather @mesh [{}, {"x"}] {{.*}} : tensor<5x3xf32> -> tensor<5x6xf32>
  // CHECK: spmd.all_gather @mesh [{}, {"x"}] {{.*}} : tensor<5x3xi32> -> tensor<5x6xi32>
  // CHECK: shoal.sort {{.*}} dim = 1 {descending} : (tensor<5x6xf32>, tensor<5x6xi32>)
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0:2 = shoal.top_k %x {k = 3} : tensor<5x40xf32> -> tensor<5x3xf32>, tensor<5x3xi32>
  return %0#0, %0#1 : tensor<5x3xf32>, tensor<5x3xi32>
}

// A candidate of each device; of the winners only the places are needed.
// CHECK-LABEL: func.func @argmax
func.func @argmax(%x: tensor<5x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  // CHECK: spmd.all_gather @mesh [{"x"}, {}] {{.*}} : tensor<1x5xf32> -> tensor<2x5xf32>
  // CHECK: spmd.all_gather @mesh [{"x"}, {}] {{.*}} : tensor<1x5xi32> -> tensor<2x5xi32>
  // CHECK: shoal.reduce_region({{.*}}) inits({{.*}}) dims = [0]
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0 = shoal.argmax %x dim = 1 : tensor<5x40xf32> -> tensor<5xi32>
  return %0 : tensor<5xi32>
}

// -----

shoal.mesh @mesh = <["x" = 4, "y" = 2]>

// Both dimensions are reduced and split: one exchange over all axes.
// CHECK-LABEL: func.func @reduce_region
func.func @reduce_region(%x: tensor<9x40x16xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}, {}]>})
    -> (tensor<16xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %zero = arith.constant dense<0> : tensor<i32>
  // CHECK: shoal.reduce_region({{.*}}) inits({{.*}}) dims = [0, 1]
  // CHECK: spmd.all_to_all @mesh [{"y", "x"} : 0 -> 1] {{.*}} : tensor<1x16xi32> -> tensor<8x2xi32>
  // CHECK: shoal.reduce_region({{.*}}) inits({{.*}}) dims = [0]
  // CHECK: spmd.all_gather @mesh [{}, {"y", "x"}] {{.*}} : tensor<1x2xi32> -> tensor<1x16xi32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0 = shoal.reduce_region(%x) inits(%zero) dims = [0, 1] {
  ^combine(%p: i32, %q: i32):
    %m = arith.maxui %p, %q : i32
    shoal.yield %m : i32
  } : (tensor<9x40x16xi32>, tensor<i32>) -> tensor<16xi32>
  return %0 : tensor<16xi32>
}

// The lines move to where they are whole, and back. Over both axes each device
// gets one and lacks 30 elements of it; over "x" alone it would be sent 60.
// CHECK-LABEL: func.func @sort_of_many_lines
func.func @sort_of_many_lines(%x: tensor<8x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: spmd.exchange @mesh [{}, {"x"}] -> @mesh [{"x", "y"}, {}] {{.*}} : tensor<8x10xf32> -> tensor<1x40xf32>
  // CHECK: shoal.sort {{.*}} dim = 1 : (tensor<1x40xf32>)
  // CHECK: spmd.exchange @mesh [{"x", "y"}, {}] -> @mesh [{}, {"x"}] {{.*}} : tensor<1x40xf32> -> tensor<8x10xf32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0 = shoal.sort %x dim = 1 : (tensor<8x40xf32>) -> tensor<8x40xf32>
  return %0 : tensor<8x40xf32>
}

// CHECK-LABEL: func.func @sort_of_one_line
func.func @sort_of_one_line(%x: tensor<40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  // CHECK: spmd.all_gather @mesh [{"x"}] {{.*}} : tensor<10xf32> -> tensor<40xf32>
  // CHECK: shoal.sort {{.*}} dim = 0 : (tensor<40xf32>)
  // CHECK: spmd.all_slice @mesh [{"x"}] {{.*}} : tensor<40xf32> -> tensor<10xf32>
  %0 = shoal.sort %x dim = 0 : (tensor<40xf32>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// CHECK-LABEL: func.func @clamp_and_select_by_scalars
func.func @clamp_and_select_by_scalars(%x: tensor<8x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
                                       %low: tensor<f32>, %p: tensor<i1>)
    -> (tensor<8x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>},
        tensor<8x40xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>}) {
  // CHECK-NOT: = spmd.
  // CHECK: arith.select {{.*}} : tensor<4x10xi1>, tensor<4x10xf32>
  // CHECK: shoal.bitcast_convert {{.*}} : tensor<4x10xf32> -> tensor<4x10xi32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0 = shoal.clamp %low, %x, %x : tensor<f32>, tensor<8x40xf32>, tensor<8x40xf32>
  %1 = shoal.broadcast_in_dim %p dims = [] : tensor<i1> -> tensor<8x40xi1>
  %2 = arith.select %1, %0, %x : tensor<8x40xi1>, tensor<8x40xf32>
  %3 = shoal.bitcast_convert %2 : tensor<8x40xf32> -> tensor<8x40xi32>
  return %2, %3 : tensor<8x40xf32>, tensor<8x40xi32>
}

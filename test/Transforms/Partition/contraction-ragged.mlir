// What is sent for products of groups of rows, by rows, groups and the summed
// dimension. Values: test/python/compiler/execution/test_contraction.py.
//
// RUN: shoal-opt %s --split-input-file --shoal-import --shoal-partition | FileCheck %s

// Rows: each device counts the groups' bounds from its first row.

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>
// CHECK-SAME: %[[W:.*]]: tensor<3x4x5xf32>
func.func @rows(%x: tensor<13x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<3x4x5xf32>,
                %sizes: tensor<3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<13x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK-DAG: %[[BEGINS:.*]] = arith.subi {{.*}} : tensor<3xi64>
  // CHECK-DAG: %[[ENDS:.*]] = arith.subi {{.*}} : tensor<3xi64>
  // CHECK: shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %[[X]], %[[W]] groups %{{.*}}, %{{.*}} : (tensor<4x4xf32>, tensor<3x4x5xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<4x5xf32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %y = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %x, %w sizes %sizes : (tensor<13x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<13x5xf32>
  return %y : tensor<13x5xf32>
}

// -----

// Groups: each device adds up the rows of its own, the last one having none of
// the five; what goes over the wire is the sum. What it multiplies is its share
// of all rows.

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: func.func @groups
// CHECK-SAME: %[[X:.*]]: tensor<13x40xf32>
// CHECK-SAME: %[[W:.*]]: tensor<2x40x5xf32>
func.func @groups(%x: tensor<13x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
                  %w: tensor<5x40x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
                  %sizes: tensor<5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<13x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: %[[BEGINS:.*]] = arith.select {{.*}} : tensor<2xi1>, tensor<2xi32>
  // CHECK: %[[ENDS:.*]] = arith.select {{.*}} : tensor<2xi1>, tensor<2xi32>
  // CHECK: %[[Y:.*]] = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %[[X]], %[[W]] groups %[[BEGINS]], %[[ENDS]] {shoal.all_groups = 5 : i64}
  // CHECK-NOT: = spmd.
  // CHECK: spmd.reduce_scatter sum @mesh [{"x"}, {}] %[[Y]] {{.*}} : tensor<13x5xf32> -> tensor<4x5xf32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %y = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %x, %w sizes %sizes : (tensor<13x40xf32>, tensor<5x40x5xf32>, tensor<5xi32>) -> tensor<13x5xf32>
  return %y : tensor<13x5xf32>
}

// -----

// The summed dimension, uneven: padding of both operands is zero.

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: func.func @summed
func.func @summed(%x: tensor<13x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
                  %w: tensor<3x6x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>},
                  %sizes: tensor<3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<13x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: %[[X:.*]] = arith.select {{.*}} : tensor<13x2xi1>, tensor<13x2xf32>
  // CHECK: %[[W:.*]] = arith.select {{.*}} : tensor<3x2x8xi1>, tensor<3x2x8xf32>
  // CHECK: %[[Y:.*]] = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %[[X]], %[[W]]
  // CHECK: spmd.reduce_scatter sum @mesh [{}, {"x"}] %[[Y]] {{.*}} : tensor<13x8xf32> -> tensor<13x2xf32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %y = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %x, %w sizes %sizes : (tensor<13x6xf32>, tensor<3x6x8xf32>, tensor<3xi32>) -> tensor<13x8xf32>
  return %y : tensor<13x8xf32>
}

// -----

// The gradient of the matrices sums rows: rows that do not exist are in no
// group, as bounds are cut to those that do. No operand is masked.

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: func.func @gradient
// CHECK-SAME: %[[X:.*]]: tensor<26x4xf32>
// CHECK-SAME: %[[DY:.*]]: tensor<26x8xf32>
func.func @gradient(%x: tensor<101x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                    %dy: tensor<101x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                    %sizes: tensor<3xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<3x4x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}) {
  // CHECK: arith.constant dense<101> : tensor<3xi64>
  // CHECK: %[[DW:.*]] = shoal.ragged_einsum "TM,TH,E->EMH" rows "T" %[[X]], %[[DY]]
  // CHECK: spmd.reduce_scatter sum @mesh [{}, {}, {"x"}] %[[DW]] {{.*}} : tensor<3x4x8xf32> -> tensor<3x4x2xf32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %dw = shoal.ragged_dot "TM,TH,E->EMH" rows "T" %x, %dy sizes %sizes : (tensor<101x4xf32>, tensor<101x8xf32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return %dw : tensor<3x4x8xf32>
}

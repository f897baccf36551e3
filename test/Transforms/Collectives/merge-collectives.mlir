// RUN: shoal-opt %s --shoal-merge-collectives | FileCheck %s

shoal.mesh @mesh = <["x" = 4]>

// CHECK-LABEL: @reasons_do_not_tell_collectives_apart
// CHECK-NEXT: %[[G:.*]] = spmd.all_gather @mesh [{"x"}] %arg0 {why = "left; right"}
// CHECK-NEXT: %[[E:.*]] = math.exp %[[G]]
// CHECK-NEXT: return %[[E]], %[[E]]
func.func @reasons_do_not_tell_collectives_apart(%a: tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}] %a {why = "left"} : tensor<2xf32> -> tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  %2 = spmd.all_gather @mesh [{"x"}] %a {why = "right"} : tensor<2xf32> -> tensor<8xf32>
  %3 = math.exp %2 : tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// 7 and 8 rows have the same shards.
// CHECK-LABEL: @sizes_do
// CHECK-COUNT-2: spmd.all_gather
func.func @sizes_do(%a: tensor<2xf32>) -> (tensor<8xf32>, tensor<7xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}] %a : tensor<2xf32> -> tensor<8xf32>
  %1 = spmd.all_gather @mesh [{"x"}] %a : tensor<2xf32> -> tensor<7xf32>
  return %0, %1 : tensor<8xf32>, tensor<7xf32>
}

// CHECK-LABEL: @unread_collectives_go_away
// CHECK-NEXT: return %arg0
func.func @unread_collectives_go_away(%a: tensor<2xf32>) -> tensor<2xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}] %a : tensor<2xf32> -> tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %a : tensor<2xf32>
}

// What a region repeats is known outside; what a region knows is not.
// CHECK-LABEL: @regions
// CHECK-NEXT: %[[R:.*]] = spmd.all_reduce sum @mesh {"x"} %arg0
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.yield %[[R]]
// CHECK-NEXT: } else {
// CHECK-NEXT: spmd.all_reduce max
// CHECK: spmd.all_reduce max
func.func @regions(%a: tensor<2xf32>, %c: i1) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<2xf32>
  %1 = scf.if %c -> tensor<2xf32> {
    %2 = spmd.all_reduce sum @mesh {"x"} %a : tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    %2 = spmd.all_reduce max @mesh {"x"} %a : tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  %3 = spmd.all_reduce max @mesh {"x"} %a : tensor<2xf32>
  return %0, %1, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @global_programs_stay
// CHECK-COUNT-2: math.exp
func.func @global_programs_stay(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = math.exp %a : tensor<2xf32>
  %1 = math.exp %a : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// RUN: shoal-opt %s --shoal-combine-collectives | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// The region reads the first one: it goes behind both.
// CHECK-LABEL: @region_in_between
// CHECK: spmd.all_reduce {{.*}}2 combined
// CHECK: scf.if
// CHECK: math.exp
func.func @region_in_between(%a: tensor<2xf32>, %c: i1) -> (tensor<2xf32>, tensor<2xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<2xf32>
  %1 = scf.if %c -> tensor<2xf32> {
    %2 = math.exp %0 : tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %0 : tensor<2xf32>
  }
  %3 = math.exp %a : tensor<2xf32>
  %4 = spmd.all_reduce sum @mesh {"x"} %3 : tensor<2xf32>
  return %1, %4 : tensor<2xf32>, tensor<2xf32>
}

// A region with a collective inside counts as one: what depends on it is not
// combined with what it depends on.
// CHECK-LABEL: @collective_in_a_region
// CHECK: spmd.all_reduce sum @mesh {"x"} %arg0
// CHECK: scf.if
// CHECK: spmd.all_reduce sum @mesh {"y"}
// CHECK: } else {
// CHECK: spmd.all_reduce sum @mesh {"x"}
// CHECK-NOT: combined
func.func @collective_in_a_region(%a: tensor<2xf32>, %c: i1) -> tensor<2xf32> attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<2xf32>
  %1 = scf.if %c -> tensor<2xf32> {
    %2 = spmd.all_reduce sum @mesh {"y"} %0 : tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %0 : tensor<2xf32>
  }
  %3 = spmd.all_reduce sum @mesh {"x"} %1 : tensor<2xf32>
  return %3 : tensor<2xf32>
}

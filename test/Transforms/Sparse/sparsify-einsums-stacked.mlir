// Choices along a dimension: the program is as long for 24 as for 9.
//
// RUN: shoal-opt %s -split-input-file --shoal-sparsify-einsums=min-gain=0 | FileCheck %s --implicit-check-not=96x32x10

// The choices are summed into one mask before rows are sent and brought back.
// CHECK-LABEL: @masks_of_24_choices(
// CHECK: shoal.scatter sum {{.*}} tensor<96x24x12xf32>
// CHECK-NOT: shoal.scatter
// CHECK: shoal.gather {{.*}} -> tensor<96x24x12xf32>
// CHECK-NOT: shoal.gather
// CHECK: return
func.func @masks_of_24_choices(%gates: tensor<96x32xf32>, %c: tensor<96x24xi32>, %w: tensor<96x24xf32>, %x: tensor<96x12xf32>, %o: tensor<32x10x12xf32>) -> (tensor<32x10x12xf32>, tensor<96x12xf32>) {
  %v, %e = shoal.top_k %gates {k = 24} : tensor<96x32xf32> -> tensor<96x24xf32>, tensor<96x24xi32>
  %ei = shoal.iota dim = 2 : tensor<96x24x32xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0, 1] : tensor<96x24xi32> -> tensor<96x24x32xi32>
  %em = arith.cmpi eq, %eb, %ei : tensor<96x24x32xi32>
  %eh = arith.uitofp %em : tensor<96x24x32xi1> to tensor<96x24x32xf32>
  %ci = shoal.iota dim = 2 : tensor<96x24x10xi32>
  %cb = shoal.broadcast_in_dim %c dims = [0, 1] : tensor<96x24xi32> -> tensor<96x24x10xi32>
  %cm = arith.cmpi eq, %cb, %ci : tensor<96x24x10xi32>
  %ch = arith.uitofp %cm : tensor<96x24x10xi1> to tensor<96x24x10xf32>
  %wb = shoal.broadcast_in_dim %w dims = [0, 1] : tensor<96x24xf32> -> tensor<96x24x10xf32>
  %cw = arith.mulf %ch, %wb : tensor<96x24x10xf32>
  %combine = shoal.einsum "SKE,SKC->SEC" %eh, %cw : (tensor<96x24x32xf32>, tensor<96x24x10xf32>) -> tensor<96x32x10xf32>
  %zero = arith.constant dense<0.0> : tensor<96x32x10xf32>
  %is = arith.cmpf une, %combine, %zero : tensor<96x32x10xf32>
  %dispatch = arith.uitofp %is : tensor<96x32x10xi1> to tensor<96x32x10xf32>
  %rows = shoal.einsum "SEC,SM->ECM" %dispatch, %x : (tensor<96x32x10xf32>, tensor<96x12xf32>) -> tensor<32x10x12xf32>
  %y = shoal.einsum "SEC,ECM->SM" %combine, %o : (tensor<96x32x10xf32>, tensor<32x10x12xf32>) -> tensor<96x12xf32>
  return %rows, %y : tensor<32x10x12xf32>, tensor<96x12xf32>
}

// -----

// Nobody knows that these differ: they would be compared in pairs.
// CHECK-LABEL: @many_that_may_meet(
// CHECK-SAME: more than 16 exceptions, which may meet
func.func @many_that_may_meet(%e: tensor<96x24xi32>, %x: tensor<96x12xf32>) -> tensor<320x12xf32> {
  %ei = shoal.iota dim = 2 : tensor<96x24x320xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0, 1] : tensor<96x24xi32> -> tensor<96x24x320xi32>
  %em = arith.cmpi eq, %eb, %ei : tensor<96x24x320xi32>
  %eh = arith.uitofp %em : tensor<96x24x320xi1> to tensor<96x24x320xf32>
  %all = shoal.reduce sum %eh dims = [1] : tensor<96x24x320xf32> -> tensor<96x320xf32>
  %zero = arith.constant dense<0.0> : tensor<96x320xf32>
  %is = arith.cmpf une, %all, %zero : tensor<96x320xf32>
  %mask = arith.uitofp %is : tensor<96x320xi1> to tensor<96x320xf32>
  %rows = shoal.einsum "SE,SM->EM" %mask, %x : (tensor<96x320xf32>, tensor<96x12xf32>) -> tensor<320x12xf32>
  return %rows : tensor<320x12xf32>
}

// -----

// Equal choices count as often as they are made.
// CHECK-LABEL: @the_same_choice_nine_times(
// CHECK: return
func.func @the_same_choice_nine_times(%e: tensor<5xi32>, %x: tensor<5x12xf32>) -> tensor<7x12xf32> {
  %ei = shoal.iota dim = 2 : tensor<5x9x7xi32>
  %eb = shoal.broadcast_in_dim %e dims = [0] : tensor<5xi32> -> tensor<5x9x7xi32>
  %em = arith.cmpi eq, %eb, %ei : tensor<5x9x7xi32>
  %eh = arith.uitofp %em : tensor<5x9x7xi1> to tensor<5x9x7xf32>
  %all = shoal.reduce sum %eh dims = [1] : tensor<5x9x7xf32> -> tensor<5x7xf32>
  %rows = shoal.einsum "SE,SM->EM" %all, %x : (tensor<5x7xf32>, tensor<5x12xf32>) -> tensor<7x12xf32>
  return %rows : tensor<7x12xf32>
}

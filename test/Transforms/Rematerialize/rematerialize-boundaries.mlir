// Between two boundaries the policy of the first holds.
//
// RUN: shoal-opt %s -split-input-file --shoal-rematerialize | FileCheck %s

// CHECK-LABEL: @layer
// CHECK: math.tanh %arg0
// CHECK: %[[X:.*]] = math.exp
// CHECK: %[[Y:.*]] = math.sin
// CHECK: %[[Z:.*]] = math.cos %[[Y]]
// What is around it is saved; its inputs are, too.
// CHECK: %[[IN:.*]] = shoal.optimization_barrier %[[X]]
// CHECK: %[[AGAIN:.*]] = math.sin %[[IN]]
// CHECK: arith.mulf %{{.*}}, %[[AGAIN]]
// CHECK-NOT: remat_boundary
func.func @layer(%w: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %v = math.tanh %w : tensor<8xf32>
  %x = math.exp %v : tensor<8xf32>
  %in = shoal.remat_boundary %x {region = 0, policy = "nothing"} : tensor<8xf32>
  %y = math.sin %in : tensor<8xf32>
  %z = math.cos %y : tensor<8xf32>
  %out = shoal.remat_boundary %z {region = 0} : tensor<8xf32>
  %gz = arith.mulf %g, %y : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
  %gy = arith.mulf %gz, %v : tensor<8xf32>
  return %out, %gy : tensor<8xf32>, tensor<8xf32>
}

// -----

// The inner boundary counts; one that has no other end is removed.
// CHECK-LABEL: @nested
// CHECK: %[[Y:.*]] = math.sin
// CHECK: %[[Z:.*]] = math.cos %[[Y]]
// CHECK-NOT: remat_boundary
// CHECK: %[[IN:.*]] = shoal.optimization_barrier %arg0
// CHECK: math.exp %[[IN]]
// CHECK-NOT: math.cos
// CHECK: return
func.func @nested(%w: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %outer = shoal.remat_boundary %w {region = 1, policy = "nothing"} : tensor<8xf32>
  %x = math.exp %outer : tensor<8xf32>
  %y = math.sin %x : tensor<8xf32>
  %in = shoal.remat_boundary %y {region = 2, policy = "everything"} : tensor<8xf32>
  %z = math.cos %in : tensor<8xf32>
  %t = math.tanh %z : tensor<8xf32>
  %out = shoal.remat_boundary %t {region = 2} : tensor<8xf32>
  %r = shoal.remat_boundary %out {region = 1} : tensor<8xf32>
  %lone = shoal.remat_boundary %r {region = 3} : tensor<8xf32>
  %gz = arith.mulf %g, %z : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
  %gy = arith.mulf %gz, %x : tensor<8xf32>
  return %lone, %gy : tensor<8xf32>, tensor<8xf32>
}

// -----

// What is read in a wider type is saved in the narrow one: both what runs again
// and what else goes back convert it for themselves.
// CHECK-LABEL: @saved_narrow
// CHECK: %[[X:.*]] = math.exp %arg0
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]]
// CHECK: math.sin %[[WIDE]]
// CHECK: %[[SAVED:.*]] = shoal.optimization_barrier %[[X]] : tensor<8xbf16>
// CHECK: %[[AGAIN:.*]] = arith.extf %[[SAVED]]
// CHECK: %[[SIN:.*]] = math.sin %[[AGAIN]]
// CHECK: arith.mulf %arg1, %[[SIN]]
// CHECK: %[[NARROW:.*]] = shoal.optimization_barrier %[[X]] : tensor<8xbf16>
// CHECK: %[[OWN:.*]] = arith.extf %[[NARROW]]
// CHECK: arith.mulf %{{.*}}, %[[OWN]]
func.func @saved_narrow(%w: tensor<8xbf16>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %x = math.exp %w : tensor<8xbf16>
  %in = shoal.remat_boundary %x {region = 0, policy = "nothing"} : tensor<8xbf16>
  %wide = arith.extf %in : tensor<8xbf16> to tensor<8xf32>
  %y = math.sin %wide : tensor<8xf32>
  %z = math.cos %y : tensor<8xf32>
  %out = shoal.remat_boundary %z {region = 0} : tensor<8xf32>
  %gz = arith.mulf %g, %y : tensor<8xf32> loc(fused<"gradient">["f.py":1:1])
  %gy = arith.mulf %gz, %wide : tensor<8xf32>
  return %out, %gy : tensor<8xf32>, tensor<8xf32>
}

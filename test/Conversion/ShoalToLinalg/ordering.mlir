// RUN: shoal-opt %s --shoal-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @sort
func.func @sort(%x: tensor<3x4xf32>, %i: tensor<3x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>) {
  // [operands, keys, descending, axis, rank, shape, types]
  // CHECK: rt.sort keys 1 dim 0 ins(%arg0, %arg1 : tensor<3x4xf32>, tensor<3x4xi32>)
  // CHECK-SAME: -> tensor<3x4xf32>, tensor<3x4xi32>
  %0:2 = shoal.sort %x, %i dim = 0 {descending} : (tensor<3x4xf32>, tensor<3x4xi32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  return %0#0, %0#1 : tensor<3x4xf32>, tensor<3x4xi32>
}

// CHECK-LABEL: func.func @reduce_region
func.func @reduce_region(%x: tensor<3x4xf32>, %n: tensor<3x4xi32>, %a: tensor<f32>, %b: tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>) {
  // The initial values are spread on the device, that is, by loops.
  // CHECK: linalg.generic {indexing_maps = [{{.*}}], iterator_types = ["parallel"]} ins(%arg2 : tensor<f32>)
  // CHECK: linalg.generic {indexing_maps = [{{.*}}], iterator_types = ["parallel"]} ins(%arg3 : tensor<i32>)
  // CHECK: linalg.generic
  // CHECK-SAME: iterator_types = ["reduction", "parallel"]
  // The inputs come first; the combiner has what was accumulated first.
  // CHECK: ^bb0(%[[IN:.*]]: f32, %[[IN2:.*]]: i32, %[[OUT:.*]]: f32, %[[OUT2:.*]]: i32):
  // CHECK: %[[SUB:.*]] = arith.subf %[[OUT]], %[[IN]] : f32
  // CHECK: %[[ADD:.*]] = arith.addi %[[OUT2]], %[[IN2]] : i32
  // CHECK: linalg.yield %[[SUB]], %[[ADD]] : f32, i32
  %0:2 = shoal.reduce_region(%x, %n) inits(%a, %b) dims = [0] {
  ^combine(%p: f32, %k: i32, %q: f32, %l: i32):
    %s = arith.subf %p, %q : f32
    %c = arith.addi %k, %l : i32
    shoal.yield %s, %c : f32, i32
  } : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @bits_to_narrower
func.func @bits_to_narrower(%x: tensor<4xf32>) -> tensor<4x2xi16> {
  // CHECK: linalg.generic
  // CHECK-SAME: iterator_types = ["parallel", "parallel"]
  // CHECK: arith.bitcast {{.*}} : f32 to i32
  // CHECK: linalg.index 1
  // CHECK: arith.shrui
  // CHECK: arith.trunci {{.*}} : i32 to i16
  %0 = shoal.bitcast_convert %x : tensor<4xf32> -> tensor<4x2xi16>
  return %0 : tensor<4x2xi16>
}

// CHECK-LABEL: func.func @bits_to_wider
func.func @bits_to_wider(%x: tensor<4x2xi16>) -> tensor<4xf32> {
  // CHECK: linalg.generic
  // CHECK-SAME: iterator_types = ["parallel", "reduction"]
  // CHECK: arith.extui {{.*}} : i16 to i32
  // CHECK: arith.shli
  // CHECK: arith.ori
  // CHECK: arith.bitcast {{.*}} : tensor<4xi32> to tensor<4xf32>
  %0 = shoal.bitcast_convert %x : tensor<4x2xi16> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

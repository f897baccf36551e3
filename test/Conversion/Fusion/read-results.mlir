// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-read-results))' --split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Where the relu is positive its operand was: this is not read again.
// CHECK-LABEL: @gradient_of_relu
// CHECK: %[[X:.+]] = linalg.exp
// CHECK: %[[Y:.+]] = linalg.generic {{.*}} ins(%[[X]] :
// CHECK: linalg.generic {{.*}} ins(%[[Y]], %{{.+}} :
// CHECK-NEXT: ^bb0(%[[IN:[^:]+]]: f32, %[[G:[^:]+]]: f32,
// CHECK-NEXT: %[[MASK:.+]] = arith.cmpf ogt, %[[IN]],
// CHECK-NEXT: arith.select %[[MASK]], %[[G]],
func.func @gradient_of_relu(%a: tensor<64xf32>, %g: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64xf32>
  %x = linalg.exp ins(%a : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.maximumf %in, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %g : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%in: f32, %in_g: f32, %out: f32):
    %1 = arith.cmpf ogt, %in, %zero : f32
    %2 = arith.select %1, %in_g, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  return %y, %dx : tensor<64xf32>, tensor<64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>

// What is computed again is read, in the order in which it was stored.
// CHECK-DAG: #[[ID:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[T:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: @computed_again_and_transposed
// CHECK: %[[X:.+]] = linalg.exp
// CHECK: %[[Y:.+]] = linalg.generic {indexing_maps = [#[[ID]], #[[T]]]{{.*}} ins(%[[X]] :
// CHECK: linalg.generic {indexing_maps = [#[[T]], #[[ID]]]{{.*}} ins(%[[Y]] : tensor<8x4xf32>)
// CHECK-NOT: arith.minimumf
// CHECK: arith.mulf
func.func @computed_again_and_transposed(%a: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = tensor.empty() : tensor<8x4xf32>
  %x = linalg.exp ins(%a : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #transposed], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%1 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.minimumf %in, %one : f32
    linalg.yield %2 : f32
  } -> tensor<8x4xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.minimumf %in, %one : f32
    %3 = arith.mulf %2, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x8xf32>
  return %y, %z : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// `x < 0` is not `max(x, 0) < 0`, and of what another bound says nothing is known.
// CHECK-LABEL: @other_comparisons
// CHECK: %[[X:.+]] = linalg.exp
// CHECK-COUNT-3: linalg.generic {{.*}} ins(%[[X]] :
func.func @other_comparisons(%a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xi1>, tensor<64xi1>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<64xf32>
  %1 = tensor.empty() : tensor<64xi1>
  %x = linalg.exp ins(%a : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.maximumf %in, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  %less = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%1 : tensor<64xi1>) {
  ^bb0(%in: f32, %out: i1):
    %2 = arith.cmpf olt, %in, %zero : f32
    linalg.yield %2 : i1
  } -> tensor<64xi1>
  %more = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%1 : tensor<64xi1>) {
  ^bb0(%in: f32, %out: i1):
    %2 = arith.cmpf ogt, %in, %one : f32
    linalg.yield %2 : i1
  } -> tensor<64xi1>
  return %y, %less, %more : tensor<64xf32>, tensor<64xi1>, tensor<64xi1>
}

// -----

#id = affine_map<(d0) -> (d0)>

// x * x is two users of x, which are one op.
// CHECK-LABEL: @squared_again
// CHECK: %[[X:.+]] = linalg.exp
// CHECK: %[[Y:.+]] = linalg.generic {{.*}} ins(%[[X]] :
// CHECK: linalg.generic {{.*}} ins(%[[Y]] :
// CHECK-NOT: arith.mulf
// CHECK: arith.negf
func.func @squared_again(%a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = tensor.empty() : tensor<64xf32>
  %x = linalg.exp ins(%a : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %in : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %in : f32
    %2 = arith.negf %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  return %y, %z : tensor<64xf32>, tensor<64xf32>
}

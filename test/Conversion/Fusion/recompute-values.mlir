// RUN: shoal-opt %s --pass-pipeline='builtin.module(func.func(shoal-recompute-values))' --split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Most is held at the second addition. 1 - tanh follows from the tanh, which is used
// later anyway, and need not be held there.
// CHECK-LABEL: @what_follows_from_another_result
// CHECK: %[[T:.+]]:2 = linalg.generic
// CHECK: linalg.add
// CHECK: linalg.add
// CHECK: %[[AGAIN:.+]] = linalg.generic {{.*}} ins(%[[T]]#0 : tensor<64xf32>)
// CHECK: arith.subf
// CHECK: linalg.mul ins(%[[T]]#0, %[[AGAIN]] :
func.func @what_follows_from_another_result(%x: tensor<64xf32>) -> tensor<64xf32> {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<64xf32>
  %t:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%0, %0 : tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%in: f32, %out0: f32, %out1: f32):
    %1 = math.tanh %in : f32
    %2 = arith.subf %one, %1 : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<64xf32>, tensor<64xf32>)
  %a = linalg.add ins(%t#0, %t#0 : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %b = linalg.mul ins(%a, %a : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %3 = linalg.add ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %4 = linalg.mul ins(%t#0, %t#1 : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %5 = linalg.mul ins(%3, %4 : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// What takes an exponential is held, as is what follows from a value that is not
// needed any more.
// CHECK-LABEL: @what_is_held
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
func.func @what_is_held(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = tensor.empty() : tensor<64xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %s = linalg.add ins(%x, %x : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%s : tensor<64xf32>) outs(%0 : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.negf %in : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %a = linalg.add ins(%x, %x : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %b = linalg.mul ins(%a, %a : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %3 = linalg.add ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %4 = linalg.mul ins(%e, %n : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %5 = linalg.mul ins(%3, %4 : tensor<64xf32>, tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// RUN: shoal-opt %s --shoal-unroll-reductions --split-input-file | FileCheck %s
// RUN: shoal-opt %s --shoal-unroll-reductions --shoal-fuse-elementwise --split-input-file | FileCheck %s --check-prefix=FUSED

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#some = affine_map<(d0, d1, d2) -> (d0, d1)>
#kept = affine_map<(d0, d1, d2) -> (d0, d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// In the order of the loops, the index of the reduced one a constant; what
// follows is then one op with the sum.
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1) -> (d0, 0, d1)>
// CHECK-DAG: #[[FIRST_WEIGHT:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0, d1) -> (d0, 1, d1)>
// CHECK-DAG: #[[SECOND_WEIGHT:.*]] = affine_map<(d0, d1) -> (d0, 1)>
// CHECK-LABEL: func.func @weighted_pairs
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [#[[FIRST]], #[[FIRST_WEIGHT]], #[[ID]], #[[SECOND]], #[[SECOND_WEIGHT]], #[[ID]]]
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: ins(%arg0, %arg1, %{{.*}}, %arg0, %arg1 :
// CHECK-NEXT: ^bb0(%[[X0:.*]]: bf16, %[[W0:.*]]: f32, %[[INITIAL:.*]]: f32, %[[X1:.*]]: bf16, %[[W1:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[WIDE0:.*]] = arith.extf %[[X0]]
// CHECK: %[[T0:.*]] = arith.mulf %[[WIDE0]], %[[W0]]
// CHECK: %[[S0:.*]] = arith.addf %[[INITIAL]], %[[T0]]
// CHECK: %[[WIDE1:.*]] = arith.extf %[[X1]]
// CHECK: %[[T1:.*]] = arith.mulf %[[WIDE1]], %[[W1]]
// CHECK: %[[S1:.*]] = arith.addf %[[S0]], %[[T1]]
// CHECK: linalg.yield %[[S1]]
// FUSED-LABEL: func.func @weighted_pairs
// FUSED-COUNT-1: linalg.generic
// FUSED-NOT: linalg.generic
// FUSED: arith.truncf
// FUSED: return
func.func @weighted_pairs(%x: tensor<32x2x128xbf16>, %w: tensor<32x2xf32>) -> tensor<32x128xbf16> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<32x128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<32x128xf32>) -> tensor<32x128xf32>
  %2 = linalg.generic {indexing_maps = [#all, #some, #kept], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x, %w : tensor<32x2x128xbf16>, tensor<32x2xf32>) outs(%1 : tensor<32x128xf32>) {
  ^bb0(%a: bf16, %b: f32, %sum: f32):
    %wide = arith.extf %a : bf16 to f32
    %term = arith.mulf %wide, %b : f32
    %next = arith.addf %sum, %term : f32
    linalg.yield %next : f32
  } -> tensor<32x128xf32>
  %3 = tensor.empty() : tensor<32x128xbf16>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2 : tensor<32x128xf32>) outs(%3 : tensor<32x128xbf16>) {
  ^bb0(%a: f32, %out: bf16):
    %narrow = arith.truncf %a : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<32x128xbf16>
  return %4 : tensor<32x128xbf16>
}

// -----

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#kept = affine_map<(d0, d1, d2) -> (d2)>

// Two loops of six iterations together, two results, one of them by a combiner
// of its own; indices of both kinds of loops.
// CHECK-LABEL: func.func @first_greatest
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK-SAME: ins(%arg0, %arg1, %arg2, %arg0, %arg0, %arg0, %arg0, %arg0 :
// CHECK: %[[COLUMN:.*]] = linalg.index 0
// CHECK: %[[ROW:.*]] = arith.constant 0 : index
// CHECK: arith.addi %[[ROW]], %[[COLUMN]]
// CHECK-COUNT-6: arith.cmpf
// CHECK-NOT: arith.cmpf
func.func @first_greatest(%x: tensor<2x3x64xf32>, %m: tensor<64xf32>, %n: tensor<64xindex>) -> (tensor<64xf32>, tensor<64xindex>) {
  %0:2 = linalg.generic {indexing_maps = [#all, #kept, #kept], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x : tensor<2x3x64xf32>) outs(%m, %n : tensor<64xf32>, tensor<64xindex>) {
  ^bb0(%a: f32, %most: f32, %place: index):
    %column = linalg.index 2 : index
    %row = linalg.index 1 : index
    %here = arith.addi %row, %column : index
    %is = arith.cmpf ogt, %a, %most : f32
    %next = arith.select %is, %a, %most : f32
    %at = arith.select %is, %here, %place : index
    linalg.yield %next, %at : f32, index
  } -> (tensor<64xf32>, tensor<64xindex>)
  return %0#0, %0#1 : tensor<64xf32>, tensor<64xindex>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#columns = affine_map<(d0, d1) -> (d1)>
#window = affine_map<(d0, d1) -> (d0 + d1)>

// Along rows, nine rows, windows, another result that is not reduced.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-4: iterator_types = [{{.*}}"reduction"
func.func @kept(%x: tensor<64x8xf32>, %s: tensor<64xf32>, %nine: tensor<9x64xf32>, %w: tensor<2xi8>, %y: tensor<65xf32>,
                %two: tensor<2x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<2x64xf32>) {
  %0 = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x8xf32>) outs(%s : tensor<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %next = arith.addf %sum, %a : f32
    linalg.yield %next : f32
  } -> tensor<64xf32>
  %1 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%nine : tensor<9x64xf32>) outs(%s : tensor<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %next = arith.addf %sum, %a : f32
    linalg.yield %next : f32
  } -> tensor<64xf32>
  %2 = linalg.generic {indexing_maps = [#window, #columns, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%y, %w : tensor<65xf32>, tensor<2xi8>) outs(%s : tensor<64xf32>) {
  ^bb0(%a: f32, %b: i8, %sum: f32):
    %next = arith.addf %sum, %a : f32
    linalg.yield %next : f32
  } -> tensor<64xf32>
  %3:2 = linalg.generic {indexing_maps = [#id, #columns, #id], iterator_types = ["reduction", "parallel"]}
      ins(%two : tensor<2x64xf32>) outs(%s, %two : tensor<64xf32>, tensor<2x64xf32>) {
  ^bb0(%a: f32, %sum: f32, %out: f32):
    %next = arith.addf %sum, %a : f32
    %negated = arith.negf %a : f32
    linalg.yield %next, %negated : f32, f32
  } -> (tensor<64xf32>, tensor<2x64xf32>)
  return %0, %1, %2, %3#0, %3#1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<2x64xf32>
}

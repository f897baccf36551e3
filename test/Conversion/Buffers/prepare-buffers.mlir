// RUN: shoal-opt %s --shoal-prepare-buffers --split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// Two sums that begin in one fill would make bufferization copy it.
// CHECK-LABEL: @every_reduction_has_its_own_fill
// CHECK-COUNT-2: linalg.fill
// CHECK: linalg.generic
func.func @every_reduction_has_its_own_fill(%x: tensor<7x5xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<7xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<7xf32>) -> tensor<7xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #rows, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<7x5xf32>) outs(%fill, %fill : tensor<7xf32>, tensor<7xf32>) {
  ^bb0(%in: f32, %sum: f32, %max: f32):
    %1 = arith.addf %sum, %in : f32
    %2 = arith.maximumf %max, %in : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<7xf32>, tensor<7xf32>)
  return %0#0, %0#1 : tensor<7xf32>, tensor<7xf32>
}

// -----

// A fill that a loop's steps write over begins in each step: in front of the
// loop it would be held all the time, and copied.
// CHECK-LABEL: @what_a_step_writes_begins_in_the_step
// CHECK-NOT: linalg.fill
// CHECK: scf.for
// CHECK: linalg.fill
// CHECK-NEXT: tensor.insert
// CHECK: scf.yield
// CHECK-NOT: linalg.fill
func.func @what_a_step_writes_begins_in_the_step(%x: tensor<7xf32>, %n: index, %v: f32) -> tensor<7xf32> {
  %zeros = arith.constant dense<0.0> : tensor<7xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> (tensor<7xf32>) {
    %1 = tensor.insert %v into %zeros[%i] : tensor<7xf32>
    scf.yield %1 : tensor<7xf32>
  }
  return %0 : tensor<7xf32>
}

// -----

// CHECK-LABEL: @one_value_everywhere_is_a_fill
// CHECK-NOT: dense
// CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NOT: dense
// CHECK: linalg.fill
func.func @one_value_everywhere_is_a_fill() -> (tensor<7x5xf32>, tensor<2xf32>) {
  %0 = arith.constant dense<3.0> : tensor<7x5xf32>
  %1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0, %1 : tensor<7x5xf32>, tensor<2xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: @dying_input_is_written_over
// CHECK-SAME: bufferization.writable = false
// CHECK: %[[V:.*]] = rt.cumulative
// CHECK: linalg.generic
// CHECK-SAME: outs(%[[V]] : tensor<7xf32>)
func.func @dying_input_is_written_over(%x: tensor<7xf32>) -> tensor<7xf32> {
  %0 = tensor.empty() : tensor<7xf32>
  %1 = rt.cumulative sum dim 0 ins(%x : tensor<7xf32>) outs(%0 : tensor<7xf32>) -> tensor<7xf32>
  %2 = tensor.empty() : tensor<7xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%1 : tensor<7xf32>) outs(%2 : tensor<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %4 = math.exp %in : f32
    linalg.yield %4 : f32
  } -> tensor<7xf32>
  return %3 : tensor<7xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: @inputs_and_values_read_again_are_not_written_over
// CHECK: %[[V:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<7xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[V]] : tensor<7xf32>)
// CHECK: return %[[V]]
func.func @inputs_and_values_read_again_are_not_written_over(%x: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %0 = tensor.empty() : tensor<7xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<7xf32>) outs(%0 : tensor<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %4 = math.exp %in : f32
    linalg.yield %4 : f32
  } -> tensor<7xf32>
  %2 = tensor.empty() : tensor<7xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%1 : tensor<7xf32>) outs(%2 : tensor<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %4 = math.tanh %in : f32
    linalg.yield %4 : f32
  } -> tensor<7xf32>
  return %1, %3 : tensor<7xf32>, tensor<7xf32>
}

// -----

// CHECK-LABEL: func.func @buffers_stay
// CHECK: linalg.fill ins(%arg0 : f32) outs(%arg1 : memref<4xf32>)
func.func @buffers_stay(%s: f32, %x: memref<4xf32>) {
  linalg.fill ins(%s : f32) outs(%x : memref<4xf32>)
  return
}

// -----

// Until it is used a fill would hold a constant.
// CHECK-LABEL: @a_fill_stands_where_it_is_used
// CHECK: %[[Y:.+]] = linalg.exp
// CHECK: %[[FILL:.+]] = linalg.fill
// CHECK-NEXT: linalg.add ins(%[[Y]], %[[FILL]]
func.func @a_fill_stands_where_it_is_used(%x: tensor<7xf32>) -> tensor<7xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<7xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<7xf32>) -> tensor<7xf32>
  %0 = tensor.empty() : tensor<7xf32>
  %w = linalg.abs ins(%x : tensor<7xf32>) outs(%0 : tensor<7xf32>) -> tensor<7xf32>
  %y = linalg.exp ins(%w : tensor<7xf32>) outs(%0 : tensor<7xf32>) -> tensor<7xf32>
  %1 = tensor.empty() : tensor<7xf32>
  %2 = linalg.add ins(%y, %fill : tensor<7xf32>, tensor<7xf32>) outs(%1 : tensor<7xf32>) -> tensor<7xf32>
  return %2 : tensor<7xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#first = affine_map<(d0) -> (d0 * 16)>

// The few elements are read before anything else is made: %y need not stay.
// CHECK-LABEL: @what_makes_little_stands_behind_its_operands
// CHECK: %[[Y:.+]] = linalg.exp
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<64xf32>)
// CHECK: linalg.abs
func.func @what_makes_little_stands_behind_its_operands(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<4xf32>) {
  %0 = tensor.empty() : tensor<64xf32>
  %y = linalg.exp ins(%x : tensor<64xf32>) outs(%0 : tensor<64xf32>) -> tensor<64xf32>
  %1 = tensor.empty() : tensor<64xf32>
  %z = linalg.abs ins(%x : tensor<64xf32>) outs(%1 : tensor<64xf32>) -> tensor<64xf32>
  %2 = tensor.empty() : tensor<4xf32>
  %few = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel"]}
      ins(%y : tensor<64xf32>) outs(%2 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  return %z, %few : tensor<64xf32>, tensor<4xf32>
}

// -----

// What follows from arguments, which stay, is computed where it is used first.
// CHECK-LABEL: @what_is_made_of_arguments
// CHECK: linalg.abs
// CHECK: linalg.negf
// CHECK: linalg.exp
// CHECK-NEXT: linalg.add
func.func @what_is_made_of_arguments(%x: tensor<7xf32>) -> tensor<7xf32> {
  %0 = tensor.empty() : tensor<7xf32>
  %early = linalg.exp ins(%x : tensor<7xf32>) outs(%0 : tensor<7xf32>) -> tensor<7xf32>
  %w = linalg.abs ins(%x : tensor<7xf32>) outs(%0 : tensor<7xf32>) -> tensor<7xf32>
  %y = linalg.negf ins(%w : tensor<7xf32>) outs(%0 : tensor<7xf32>) -> tensor<7xf32>
  %2 = linalg.add ins(%y, %early : tensor<7xf32>, tensor<7xf32>) outs(%0 : tensor<7xf32>) -> tensor<7xf32>
  return %2 : tensor<7xf32>
}

// -----

// A row of an argument is read where it is, in front of a product and of others;
// columns are not side by side, and three floats end at no multiple of 64 bytes.
// CHECK-LABEL: @rows_of_arguments
// CHECK: %[[ROW:.+]] = tensor.extract_slice %{{.+}}[1, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<2x8x16xf32> to tensor<1x8x16xf32>
// CHECK: linalg.exp ins(%[[ROW]]
// CHECK: %[[COLUMNS:.+]] = linalg.generic
// CHECK: linalg.abs ins(%[[COLUMNS]]
// CHECK: %[[ODD:.+]] = linalg.generic
// CHECK: linalg.abs ins(%[[ODD]]
func.func @rows_of_arguments(%w: tensor<2x8x16xf32>, %v: tensor<2x3xf32>) -> (tensor<1x8x16xf32>, tensor<2x8x8xf32>, tensor<1x3xf32>) {
  %0 = tensor.empty() : tensor<1x8x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(l, i, j) -> (1, i, j)>, affine_map<(l, i, j) -> (l, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<2x8x16xf32>) outs(%0 : tensor<1x8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x8x16xf32>
  %2 = linalg.exp ins(%1 : tensor<1x8x16xf32>) outs(%0 : tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
  %3 = tensor.empty() : tensor<2x8x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(l, i, j) -> (l, i, j + 8)>, affine_map<(l, i, j) -> (l, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<2x8x16xf32>) outs(%3 : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x8x8xf32>
  %5 = linalg.abs ins(%4 : tensor<2x8x8xf32>) outs(%3 : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %6 = tensor.empty() : tensor<1x3xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(l, i) -> (1, i)>, affine_map<(l, i) -> (l, i)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<2x3xf32>) outs(%6 : tensor<1x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x3xf32>
  %8 = linalg.abs ins(%7 : tensor<1x3xf32>) outs(%6 : tensor<1x3xf32>) -> tensor<1x3xf32>
  return %2, %5, %8 : tensor<1x8x16xf32>, tensor<2x8x8xf32>, tensor<1x3xf32>
}

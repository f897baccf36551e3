// RUN: shoal-opt %s --shoal-to-linalg --split-input-file | FileCheck %s

// A contraction is the library's.
// CHECK-LABEL: @contraction_calls_the_runtime
// CHECK: %[[INIT:.*]] = tensor.empty() : tensor<7x6xf32>
// CHECK: rt.einsum "AB,BC->AC"
// CHECK-SAME: ins(%arg0, %arg1 : tensor<7x5xf32>, tensor<5x6xf32>) outs(%[[INIT]] : tensor<7x6xf32>)
func.func @contraction_calls_the_runtime(%a: tensor<7x5xf32>, %b: tensor<5x6xf32>) -> tensor<7x6xf32> {
  %0 = shoal.einsum "AB,BC->AC" %a, %b : (tensor<7x5xf32>, tensor<5x6xf32>) -> tensor<7x6xf32>
  return %0 : tensor<7x6xf32>
}

// -----

// CHECK-LABEL: @outer_product_is_elementwise
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel"]
// CHECK: arith.mulf
func.func @outer_product_is_elementwise(%a: tensor<7x5xf32>, %b: tensor<7x3xf32>) -> tensor<7x5x3xf32> {
  %0 = shoal.einsum "SE,SC->SEC" %a, %b : (tensor<7x5xf32>, tensor<7x3xf32>) -> tensor<7x5x3xf32>
  return %0 : tensor<7x5x3xf32>
}

// -----

// CHECK-LABEL: @rowwise_dot_product_is_a_reduction
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: arith.mulf
// CHECK: arith.addf {{.*}} fastmath<reassoc>
func.func @rowwise_dot_product_is_a_reduction(%a: tensor<7x5xf32>, %b: tensor<7x5xf32>) -> tensor<7xf32> {
  %0 = shoal.einsum "SE,SE->S" %a, %b : (tensor<7x5xf32>, tensor<7x5xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// A diagonal has more dimensions than letters, and sums nothing.
// CHECK-DAG: #[[DIAGONAL:.*]] = affine_map<(d0, d1) -> (d1, d0, d0)>
// CHECK-LABEL: @transposed_diagonal
// CHECK: linalg.generic
// CHECK-SAME: [#[[DIAGONAL]],
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
func.func @transposed_diagonal(%a: tensor<3x2x2xi32>) -> tensor<2x3xi32> {
  %0 = shoal.einsum "ABB->BA" %a : (tensor<3x2x2xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}

// -----

// The loops run in the order of memory: the summed letter is the outer one.
// CHECK-LABEL: @sum_over_one_operand_reads_in_order
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["reduction", "parallel"]
func.func @sum_over_one_operand_reads_in_order(%a: tensor<7x5xf32>) -> tensor<5xf32> {
  %0 = shoal.einsum "AB->B" %a : (tensor<7x5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// CHECK-LABEL: @narrow_floats_are_summed_in_f32
// CHECK: linalg.fill ins(%{{.*}} : f32)
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf %{{.*}} : tensor<7xf32> to tensor<7xbf16>
func.func @narrow_floats_are_summed_in_f32(%a: tensor<7x5xbf16>) -> tensor<7xbf16> {
  %0 = shoal.reduce sum %a dims = [1] : tensor<7x5xbf16> -> tensor<7xbf16>
  return %0 : tensor<7xbf16>
}

// Of extrema, too: in a loop on bf16 each step would round.
// CHECK-LABEL: @extrema_of_narrow_floats_are_found_in_f32
// CHECK: arith.maximumf {{.*}} : f32
// CHECK: arith.truncf %{{.*}} : tensor<7xf32> to tensor<7xbf16>
func.func @extrema_of_narrow_floats_are_found_in_f32(%a: tensor<7x5xbf16>) -> tensor<7xbf16> {
  %0 = shoal.reduce max %a dims = [1] : tensor<7x5xbf16> -> tensor<7xbf16>
  return %0 : tensor<7xbf16>
}

// -----

// CHECK-LABEL: @maxima_begin_at_the_smallest_value
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: arith.maximumf
// CHECK: arith.constant -128 : i8
// CHECK: arith.maxsi
func.func @maxima_begin_at_the_smallest_value(%a: tensor<7xf32>, %b: tensor<7xi8>) -> (tensor<f32>, tensor<i8>) {
  %0 = shoal.reduce max %a dims = [0] : tensor<7xf32> -> tensor<f32>
  %1 = shoal.reduce max %b dims = [0] : tensor<7xi8> -> tensor<i8>
  return %0, %1 : tensor<f32>, tensor<i8>
}

// -----

// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: @broadcast_reads_by_map
// CHECK: linalg.generic {indexing_maps = [#[[ROW]],
// CHECK: linalg.generic {indexing_maps = [#[[ONE]],
func.func @broadcast_reads_by_map(%a: tensor<5xf32>, %b: tensor<1x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %0 = shoal.broadcast_in_dim %a dims = [1] : tensor<5xf32> -> tensor<3x5xf32>
  %1 = shoal.broadcast_in_dim %b dims = [0, 1] : tensor<1x5xf32> -> tensor<3x5xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// CHECK: #[[MAP:.*]] = affine_map<(d0, d1) -> (d0 * 2 + 1, d1 * 3)>
// CHECK-LABEL: @slice_reads_by_map
// CHECK: linalg.generic {indexing_maps = [#[[MAP]],
func.func @slice_reads_by_map(%a: tensor<7x5xf32>) -> tensor<3x2xf32> {
  %0 = shoal.slice %a starts = [1, 0] limits = [6, 5] strides = [2, 3] : tensor<7x5xf32> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// The finest shape that both are made of: [2, 3, 4] over [6, 4] to [6, 2, 2].
// CHECK-LABEL: @reshape_goes_over_common_groups
// CHECK: tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
// CHECK: tensor.expand_shape {{.*}} {{\[\[}}0], [1, 2]] {{.*}} : tensor<6x4xf32> into tensor<6x2x2xf32>
func.func @reshape_goes_over_common_groups(%a: tensor<2x3x4xf32>) -> tensor<6x2x2xf32> {
  %0 = shoal.reshape %a : tensor<2x3x4xf32> -> tensor<6x2x2xf32>
  return %0 : tensor<6x2x2xf32>
}

// -----

// CHECK-LABEL: @interior_padding_is_a_stride
// CHECK: %[[F:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<f32>)
// CHECK: tensor.insert_slice %arg0 into %[[F]][1, 0] [3, 2] [3, 1]
func.func @interior_padding_is_a_stride(%a: tensor<3x2xf32>, %v: tensor<f32>) -> tensor<8x4xf32> {
  %0 = shoal.pad %a, %v low = [1, 0] high = [0, 2] interior = [2, 0] : tensor<3x2xf32>, tensor<f32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: @concatenate_inserts_one_behind_the_other
// CHECK: %[[A:.*]] = tensor.insert_slice %arg0 into %{{.*}}[0, 0] [2, 4] [1, 1]
// CHECK: tensor.insert_slice %arg1 into %[[A]][2, 0] [3, 4] [1, 1]
// CHECK-NOT: tensor.insert_slice
func.func @concatenate_inserts_one_behind_the_other(%a: tensor<2x4xf32>, %b: tensor<3x4xf32>, %z: tensor<0x4xf32>) -> tensor<5x4xf32> {
  %0 = shoal.concatenate %a, %b, %z dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<0x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----

// CHECK-LABEL: @scans_call_the_runtime
// CHECK: rt.cumulative sum dim 1 {{.*}} {exclusive}
// CHECK: rt.top_k ins(%arg1 : tensor<7x5xf32>) outs({{.*}} : tensor<7x3xf32>, tensor<7x3xi32>)
func.func @scans_call_the_runtime(%a: tensor<7x5xi32>, %b: tensor<7x5xf32>) -> (tensor<7x5xi32>, tensor<7x3xf32>, tensor<7x3xi32>) {
  %0 = shoal.cumulative sum %a dim = 1 {exclusive} : tensor<7x5xi32>
  %1, %2 = shoal.top_k %b {k = 3} : tensor<7x5xf32> -> tensor<7x3xf32>, tensor<7x3xi32>
  return %0, %1, %2 : tensor<7x5xi32>, tensor<7x3xf32>, tensor<7x3xi32>
}

// -----

// CHECK-LABEL: @nothing_computes_an_empty_tensor
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: linalg.fill
func.func @nothing_computes_an_empty_tensor(%a: tensor<0x5xf32>, %b: tensor<5x0xf32>) -> (tensor<0x5xf32>, tensor<5x5xf32>) {
  %0 = shoal.cumulative sum %a dim = 1 : tensor<0x5xf32>
  %1 = shoal.einsum "AB,BC->AC" %b, %0 : (tensor<5x0xf32>, tensor<0x5xf32>) -> tensor<5x5xf32>
  return %0, %1 : tensor<0x5xf32>, tensor<5x5xf32>
}

// -----

// A scalar's bits as a vector, and back: there is no other dimension.
// CHECK-LABEL: @bits_of_a_scalar
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%arg0 : tensor<i64>)
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%arg1 : tensor<4xi8>)
func.func @bits_of_a_scalar(%a: tensor<i64>, %b: tensor<4xi8>) -> (tensor<2xi32>, tensor<i32>) {
  %0 = shoal.bitcast_convert %a : tensor<i64> -> tensor<2xi32>
  %1 = shoal.bitcast_convert %b : tensor<4xi8> -> tensor<i32>
  return %0, %1 : tensor<2xi32>, tensor<i32>
}

// -----

// Rows that all steps together write begin as they come; those of which one is
// never written begin as the program says.
// CHECK-LABEL: @rows_of_a_loop
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<4x8xf32>
// CHECK-DAG: %[[ANY:.*]] = tensor.empty() : tensor<3x8xf32>
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[ANY]], %{{.*}} = %[[ZEROS]])
func.func @rows_of_a_loop(%x: tensor<1x8xf32>) -> (tensor<3x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<3x8xf32>
  %more_rows = arith.constant dense<0.0> : tensor<4x8xf32>
  %r:3 = shoal.while (%i = %zero, %a = %rows, %b = %more_rows) : tensor<i32>, tensor<3x8xf32>, tensor<4x8xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %a2 = shoal.dynamic_update_slice %a, %x[%i, %zero] : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %b2 = shoal.dynamic_update_slice %b, %x[%i, %zero] : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    shoal.yield %next, %a2, %b2 : tensor<i32>, tensor<3x8xf32>, tensor<4x8xf32>
  }
  return %r#1, %r#2 : tensor<3x8xf32>, tensor<4x8xf32>
}

// -----

// An index that counts from the end where it is negative is the trip's number
// where that never is; where the loop begins at -1, as one of Python's rows, it
// is the last row first: all rows are written, which is not seen.
// CHECK-LABEL: @rows_of_a_loop_from_the_end
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<3x8xf32>
// CHECK-DAG: %[[ANY:.*]] = tensor.empty() : tensor<3x8xf32>
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %[[ANY]], %{{.*}} = %[[ZEROS]])
func.func @rows_of_a_loop_from_the_end(%x: tensor<1x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %before = arith.constant dense<-1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %rows = arith.constant dense<0.0> : tensor<3x8xf32>
  %r:4 = shoal.while (%i = %zero, %j = %before, %a = %rows, %b = %rows) : tensor<i32>, tensor<i32>, tensor<3x8xf32>, tensor<3x8xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %next_j = arith.addi %j, %one : tensor<i32>
    %is_negative = arith.cmpi slt, %i, %zero : tensor<i32>
    %from_end = arith.addi %i, %three : tensor<i32>
    %at = arith.select %is_negative, %from_end, %i : tensor<i1>, tensor<i32>
    %is_j_negative = arith.cmpi slt, %j, %zero : tensor<i32>
    %j_from_end = arith.addi %j, %three : tensor<i32>
    %at_j = arith.select %is_j_negative, %j_from_end, %j : tensor<i1>, tensor<i32>
    %a2 = shoal.dynamic_update_slice %a, %x[%at, %zero] : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %b2 = shoal.dynamic_update_slice %b, %x[%at_j, %zero] : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    shoal.yield %next, %next_j, %a2, %b2 : tensor<i32>, tensor<i32>, tensor<3x8xf32>, tensor<3x8xf32>
  }
  return %r#2, %r#3 : tensor<3x8xf32>, tensor<3x8xf32>
}

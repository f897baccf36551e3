// RUN: shoal-opt %s --shoal-differentiate="function=main mode=vjp" | FileCheck %s
// RUN: shoal-opt %s --shoal-differentiate="function=loop mode=vjp wrt=0,1,2" | FileCheck %s --check-prefix=LOOP

// Gradients that are sums of floats of 8 bits are summed in f32 and rounded once.
// CHECK-LABEL: func.func @main_vjp
// CHECK-NOT: shoal.reduce sum %{{.*}}f8
// CHECK: return
func.func @main(%x: tensor<4x5xf8E5M2>, %b: tensor<5xf8E5M2>, %i: tensor<3x1xi32>, %u: tensor<3x5xf8E5M2>)
    -> (tensor<4x5xf8E5M2>) {
  %s = shoal.broadcast_in_dim %b dims = [1] : tensor<5xf8E5M2> -> tensor<4x5xf8E5M2>
  %r = shoal.gather %x, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 5] : (tensor<4x5xf8E5M2>, tensor<3x1xi32>) -> tensor<3x5xf8E5M2>
  %v = arith.maximumf %r, %u : tensor<3x5xf8E5M2>
  %y = shoal.scatter max %s, %i, %v update_window_dims = [1] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1
      : (tensor<4x5xf8E5M2>, tensor<3x1xi32>, tensor<3x5xf8E5M2>) -> tensor<4x5xf8E5M2>
  %lowest = arith.constant dense<-8.0> : tensor<f8E5M2>
  %z = shoal.reduce_window max %y, %lowest window = [2, 1] high = [1, 0] : tensor<4x5xf8E5M2>, tensor<f8E5M2> -> tensor<4x5xf8E5M2>
  return %z : tensor<4x5xf8E5M2>
}

// So are gradients of what all steps of a loop read: of a product they are the
// wide sums that it has anyway. Those of rows that one step alone reads are no
// sums, and stay as narrow as the rows.
// LOOP-LABEL: func.func @loop_vjp
// LOOP: shoal.while {{.*}} : tensor<i32>, tensor<4xbf16>, tensor<8x4xbf16>, tensor<4x4xf32>, tensor<4xf32> cond
// LOOP: arith.extf {{.*}} : tensor<4xbf16> to tensor<4xf32>
// LOOP-NEXT: arith.addf {{.*}} : tensor<4xf32>
// LOOP: %[[G:.*]] = shoal.einsum {{.*}} -> tensor<4x4xf32>
// LOOP-NEXT: arith.addf %{{.*}}, %[[G]] : tensor<4x4xf32>
// LOOP: shoal.dynamic_update_slice {{.*}} -> tensor<8x4xbf16>
// LOOP: arith.truncf %{{.*}} : tensor<4x4xf32> to tensor<4x4xbf16>
func.func @loop(%w: tensor<4x4xbf16>, %b: tensor<4xbf16>, %rows: tensor<8x4xbf16>, %x0: tensor<4xbf16>) -> tensor<4xbf16> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %eight = arith.constant dense<8> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %x = %x0) : tensor<i32>, tensor<4xbf16> cond {
    %more = arith.cmpi slt, %i, %eight : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = arith.addi %i, %one : tensor<i32>
    %row = shoal.dynamic_slice %rows[%i, %zero] sizes = [1, 4] : (tensor<8x4xbf16>, tensor<i32>, tensor<i32>) -> tensor<1x4xbf16>
    %a = shoal.reshape %row : tensor<1x4xbf16> -> tensor<4xbf16>
    %y = shoal.einsum "M,MN->N" %x, %w : (tensor<4xbf16>, tensor<4x4xbf16>) -> tensor<4xbf16>
    %s = arith.mulf %b, %a : tensor<4xbf16>
    %z = arith.addf %y, %s : tensor<4xbf16>
    shoal.yield %next, %z : tensor<i32>, tensor<4xbf16>
  }
  return %r#1 : tensor<4xbf16>
}

// RUN: shoal-opt %s --shoal-differentiate="function=main mode=vjp" | FileCheck %s

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

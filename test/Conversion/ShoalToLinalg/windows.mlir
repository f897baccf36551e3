// RUN: shoal-opt %s --shoal-to-linalg | FileCheck %s

// A convolution is a matrix product over patches: the rows of each window, one
// behind the other. The kernel, read in its own order, is a matrix already.
// CHECK-LABEL: func @patches(
// CHECK-SAME: %[[X:.*]]: tensor<2x9x5xf32>, %[[K:.*]]: tensor<3x5x4xf32>
func.func @patches(%x: tensor<2x9x5xf32>, %k: tensor<3x5x4xf32>) -> tensor<2x9x4xf32> attributes {shoal.spmd} {
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<2x11x5xf32>
  // CHECK: %[[PADDED:.*]] = tensor.insert_slice %[[X]] into %[[ZEROS]][0, 1, 0] [2, 9, 5] [1, 1, 1]
  // CHECK: %[[PATCHES:.*]] = linalg.generic {{.*}} ins(%[[PADDED]] : tensor<2x11x5xf32>) outs(%{{.*}} : tensor<2x9x3x5xf32>)
  // CHECK: rt.einsum{{.*}}(%[[PATCHES]], %[[K]]
  // CHECK-NOT: shoal.
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k low = [1] high = [1] : tensor<2x9x5xf32>, tensor<3x5x4xf32> -> tensor<2x9x4xf32>
  return %0 : tensor<2x9x4xf32>
}

// Patches that would be 37 times as large as the tensors are not made.
// CHECK-LABEL: func @loops(
func.func @loops(%x: tensor<1x300x1xbf16>, %k: tensor<90x1x1xbf16>) -> tensor<1x211x1xbf16> attributes {shoal.spmd} {
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<1x300x1xbf16>, tensor<90x1x1xbf16>) outs(%{{.*}} : tensor<1x211x1xf32>)
  // CHECK: arith.truncf {{.*}} : tensor<1x211x1xf32> to tensor<1x211x1xbf16>
  // CHECK-NOT: {{[^a-z]}}rt.
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k : tensor<1x300x1xbf16>, tensor<90x1x1xbf16> -> tensor<1x211x1xbf16>
  return %0 : tensor<1x211x1xbf16>
}

// Groups are a batch dimension of the product.
// CHECK-LABEL: func @groups(
func.func @groups(%x: tensor<2x9x6xf32>, %k: tensor<1x3x8xf32>) -> tensor<2x9x8xf32> attributes {shoal.spmd} {
  // CHECK: tensor.expand_shape {{.*}} into tensor<2x9x2x3xf32>
  // CHECK: tensor.expand_shape {{.*}} into tensor<1x3x2x4xf32>
  // CHECK: rt.einsum{{.*}} -> tensor<2x9x2x4xf32>
  // CHECK: tensor.collapse_shape {{.*}} into tensor<2x9x8xf32>
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {feature_group_count = 2} : tensor<2x9x6xf32>, tensor<1x3x8xf32> -> tensor<2x9x8xf32>
  return %0 : tensor<2x9x8xf32>
}

// Rows that negative padding cuts off and holes of a dilated operand.
// CHECK-LABEL: func @holes(
func.func @holes(%x: tensor<6xf32>, %init: tensor<f32>) -> tensor<4xf32> attributes {shoal.spmd} {
  // CHECK: %[[KEPT:.*]] = tensor.extract_slice %{{.*}}[1] [4] [1]
  // CHECK: tensor.insert_slice %[[KEPT]] into %{{.*}}[1] [4] [2] : tensor<4xf32> into tensor<8xf32>
  // CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
  // CHECK: arith.maximumf
  %0 = shoal.reduce_window max %x, %init window = [2] strides = [2] low = [-1] high = [-2] base_dilation = [2] : tensor<6xf32>, tensor<f32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// First the place in each window, then all windows of each element.
// CHECK-LABEL: func @select_and_scatter(
func.func @select_and_scatter(%x: tensor<7xf32>, %dy: tensor<3xf32>, %init: tensor<f32>) -> tensor<7xf32> attributes {shoal.spmd} {
  // CHECK: %[[SELECTED:.*]]:2 = linalg.generic
  // CHECK: -> (tensor<3xf32>, tensor<3xi32>)
  // CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[2] [3] [2] : tensor<3xf32> into tensor<9xf32>
  // CHECK: tensor.insert_slice %[[SELECTED]]#1 into %{{.*}}[2] [3] [2] : tensor<3xi32> into tensor<9xi32>
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<7xf32>)
  %0 = shoal.select_and_scatter max %x, %dy, %init window = [3] strides = [2] : tensor<7xf32>, tensor<3xf32>, tensor<f32> -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// No window fits into the rows that there are: nothing is added.
// CHECK-LABEL: func @select_and_scatter_without_windows(
// CHECK-SAME: %{{.*}}: tensor<1xf32>, %{{.*}}: tensor<0xf32>, %[[INIT:.*]]: tensor<f32>
func.func @select_and_scatter_without_windows(%x: tensor<1xf32>, %dy: tensor<0xf32>, %init: tensor<f32>) -> tensor<1xf32> attributes {shoal.spmd} {
  // CHECK-NOT: tensor.insert_slice
  // CHECK: linalg.generic {{.*}} ins(%[[INIT]] : tensor<f32>)
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %0 = shoal.select_and_scatter min %x, %dy, %init window = [2] strides = [3] : tensor<1xf32>, tensor<0xf32>, tensor<f32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

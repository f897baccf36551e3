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

// Patches are copied along the lines of the operand. Here these are rows, and
// stand on the right of the kernel: what comes is the result as it lies.
// CHECK-LABEL: func @rows_are_last(
// CHECK-SAME: %{{.*}}: tensor<2x5x34xf32>, %[[K:.*]]: tensor<4x5x3xf32>
func.func @rows_are_last(%x: tensor<2x5x34xf32>, %k: tensor<4x5x3xf32>) -> tensor<2x4x32xf32> attributes {shoal.spmd} {
  // CHECK: %[[PATCHES:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x5x3x32xf32>)
  // CHECK: %[[Y:.*]] = rt.einsum "bixr,oix->bor" ins(%[[PATCHES]], %[[K]]
  // CHECK: return %[[Y]]
  %0 = shoal.convolution "bf0,oi0->bf0" %x, %k : tensor<2x5x34xf32>, tensor<4x5x3xf32> -> tensor<2x4x32xf32>
  return %0 : tensor<2x4x32xf32>
}

// The gradient of that kernel: places are more than rows, and last. The other
// operand becomes a matrix of them once, and the result is turned round.
// CHECK-LABEL: func @places_are_last(
// CHECK-SAME: %{{.*}}: tensor<2x5x34xf32>, %[[DY:.*]]: tensor<2x4x32xf32>
func.func @places_are_last(%x: tensor<2x5x34xf32>, %dy: tensor<2x4x32xf32>) -> tensor<4x5x3xf32> attributes {shoal.spmd} {
  // CHECK: %[[PATCHES:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<5x3x2x32xf32>)
  // CHECK: %[[MATRIX:.*]] = linalg.generic {{.*}} ins(%[[DY]] : {{.*}} outs(%{{.*}} : tensor<2x32x4xf32>)
  // CHECK: %[[Y:.*]] = rt.einsum "brix,ixo->bro" ins(%[[PATCHES]], %[[MATRIX]]
  // CHECK: linalg.generic {{.*}} ins(%[[Y]] : {{.*}} outs(%{{.*}} : tensor<4x5x3xf32>)
  %0 = shoal.convolution "fb0,io0->fb0" %x, %dy : tensor<2x5x34xf32>, tensor<2x4x32xf32> -> tensor<4x5x3xf32>
  return %0 : tensor<4x5x3xf32>
}

// Windows of one row, none left out: the operand is all patches.
// CHECK-LABEL: func @no_patches(
func.func @no_patches(%x: tensor<2x5x34xf32>, %k: tensor<4x5x1xf32>) -> tensor<2x4x34xf32> attributes {shoal.spmd} {
  // CHECK-NOT: linalg.generic
  // CHECK: rt.einsum "birx,oix->bor"
  // CHECK-NOT: linalg.generic
  // CHECK: return
  %0 = shoal.convolution "bf0,oi0->bf0" %x, %k : tensor<2x5x34xf32>, tensor<4x5x1xf32> -> tensor<2x4x34xf32>
  return %0 : tensor<2x4x34xf32>
}

// One feature in each group: no matrices, but loops along the groups.
// CHECK-LABEL: func @groups_are_last(
func.func @groups_are_last(%x: tensor<2x34x8xf32>, %k: tensor<3x1x8xf32>) -> tensor<2x32x8xf32> attributes {shoal.spmd} {
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x32x3x8xf32>)
  // CHECK: rt.einsum "brxg,xigo->brgo"
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k {feature_group_count = 8} : tensor<2x34x8xf32>, tensor<3x1x8xf32> -> tensor<2x32x8xf32>
  return %0 : tensor<2x32x8xf32>
}

// Every other row of the operand is a hole, as in gradients of strided
// convolutions: even rows of the result meet the row in the middle of
// the kernel, odd ones those at its ends. No zeros are multiplied.
// CHECK-LABEL: func @phases(
// CHECK-SAME: %{{.*}}: tensor<2x5x17xf32>, %[[K:.*]]: tensor<4x5x3xf32>
func.func @phases(%x: tensor<2x5x17xf32>, %k: tensor<4x5x3xf32>) -> tensor<2x4x33xf32> attributes {shoal.spmd} {
  // CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<2x4x33xf32>
  // CHECK: %[[MIDDLE:.*]] = tensor.extract_slice %[[K]][0, 0, 1] [4, 5, 1] [1, 1, 1]
  // CHECK: %[[EVEN:.*]] = rt.einsum "birx,oix->bor" {{.*}}%[[MIDDLE]]
  // CHECK: %[[HALF:.*]] = tensor.insert_slice %[[EVEN]] into %[[EMPTY]][0, 0, 0] [2, 4, 17] [1, 1, 2]
  // CHECK: %[[ENDS:.*]] = tensor.extract_slice %[[K]][0, 0, 0] [4, 5, 2] [1, 1, 2]
  // CHECK: %[[ODD:.*]] = rt.einsum "bixr,oix->bor" {{.*}}%[[ENDS]]
  // CHECK: tensor.insert_slice %[[ODD]] into %[[HALF]][0, 0, 1] [2, 4, 16] [1, 1, 2]
  %0 = shoal.convolution "bf0,oi0->bf0" %x, %k low = [1] high = [1] base_dilation = [2] : tensor<2x5x17xf32>, tensor<4x5x3xf32> -> tensor<2x4x33xf32>
  return %0 : tensor<2x4x33xf32>
}

// A kernel of one row meets holes alone in every other row, which stays zero.
// CHECK-LABEL: func @empty_phase(
func.func @empty_phase(%x: tensor<2x5x16xf32>, %k: tensor<4x5x1xf32>) -> tensor<2x4x31xf32> attributes {shoal.spmd} {
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<2x4x31xf32>
  // CHECK: rt.einsum
  // CHECK: tensor.insert_slice %{{.*}} into %[[ZEROS]][0, 0, 0] [2, 4, 16] [1, 1, 2]
  // CHECK-NOT: rt.einsum
  // CHECK: return
  %0 = shoal.convolution "bf0,oi0->bf0" %x, %k base_dilation = [2] : tensor<2x5x16xf32>, tensor<4x5x1xf32> -> tensor<2x4x31xf32>
  return %0 : tensor<2x4x31xf32>
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

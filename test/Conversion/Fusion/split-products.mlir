// RUN: shoal-opt %s --shoal-to-linalg --canonicalize --cse --shoal-split-products --canonicalize --cse --split-input-file | FileCheck %s

// One image's rows do not fit, either: two loops. An image is padded in the
// outer one, and each part of the result is written where it belongs.
// CHECK-LABEL: @padded_rows
// CHECK-SAME: (%[[X:.+]]: tensor<8x8x8x4xf32>, %[[K:.+]]: tensor<3x3x4x8xf32>)
// CHECK: %[[EMPTY:.+]] = tensor.empty() : tensor<8x8x8x8xf32>
// CHECK: scf.for %[[B:.+]] = %c0 to %c8 step %c1 iter_args(%[[Y:.+]] = %[[EMPTY]])
// CHECK: %[[IMAGE:.+]] = tensor.extract_slice %[[X]][%[[B]], 0, 0, 0] [1, 8, 8, 4]
// CHECK: %[[PADDED:.+]] = tensor.insert_slice %[[IMAGE]] into %{{.+}}[0, 1, 1, 0] [1, 8, 8, 4] {{.*}} into tensor<1x10x10x4xf32>
// CHECK: %[[PART:.+]] = tensor.extract_slice %[[Y]][%[[B]], 0, 0, 0] [1, 8, 8, 8]
// CHECK: scf.for %[[R:.+]] = %c0 to %c8 step %c2 iter_args(%[[ROWS:.+]] = %[[PART]])
// CHECK: tensor.extract_slice %[[PADDED]][0, %[[R]], 0, 0] [1, 4, 10, 4]
// CHECK: %[[PATCHES:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<1x2x8x3x3x4xf32>)
// CHECK: %[[OUT:.+]] = tensor.extract_slice %[[ROWS]][0, %[[R]], 0, 0] [1, 2, 8, 8]
// CHECK: rt.einsum "brsxyi,xyio->brso" ins(%[[PATCHES]], %[[K]] {{.*}} outs(%[[OUT]]
func.func @padded_rows(%x: tensor<8x8x8x4xf32>, %k: tensor<3x3x4x8xf32>) -> tensor<8x8x8x8xf32> {
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k low = [1, 1] high = [1, 1] : tensor<8x8x8x4xf32>, tensor<3x3x4x8xf32> -> tensor<8x8x8x8xf32>
  return %0 : tensor<8x8x8x8xf32>
}

// -----

// Windows two apart that are read backwards: the rows of a part begin at twice
// its own first one.
// CHECK-LABEL: @strided_and_reversed
// CHECK: scf.for %[[R:.+]] = %c0 to %c32 step %[[STEP:.+]] iter_args
// CHECK: %[[FIRST:.+]] = arith.muli %[[R]], %c2
// CHECK: %[[ROWS:.+]] = tensor.extract_slice %{{.+}}[0, %[[FIRST]], 0] [1, 33, 4]
// CHECK: linalg.generic {{.*}} outs(%{{.+}} : tensor<1x16x3x4xf32>)
func.func @strided_and_reversed(%x: tensor<1x65x4xf32>, %k: tensor<3x4x4xf32>) -> tensor<1x32x4xf32> {
  %0 = shoal.convolution "b0f,0io->b0f" %x, %k strides = [2] reversal = [true] : tensor<1x65x4xf32>, tensor<3x4x4xf32> -> tensor<1x32x4xf32>
  return %0 : tensor<1x32x4xf32>
}

// -----

// The second letter of the result is the kernel's: to split the third one would
// leave parts of the result apart.
// CHECK-LABEL: @features_before_rows
// CHECK: scf.for %{{.+}} = %c0 to %c4 step %c1
// CHECK: rt.einsum "bixr,oix->bor" ins({{.+}} : tensor<1x4x3x16xf32>
// CHECK-NOT: scf.for
func.func @features_before_rows(%x: tensor<4x4x18xf32>, %k: tensor<4x4x3xf32>) -> tensor<4x4x16xf32> {
  %0 = shoal.convolution "bf0,oi0->bf0" %x, %k : tensor<4x4x18xf32>, tensor<4x4x3xf32> -> tensor<4x4x16xf32>
  return %0 : tensor<4x4x16xf32>
}

// -----

// Three rows of a channel are no product of their own: those of all channels
// are made at once, although they are more than an eighth of what is held.
// CHECK-LABEL: @few_rows
// CHECK-NOT: scf.for
// CHECK: rt.einsum "brix,ixo->bro" ins({{.+}} : tensor<3x3x8x8xf32>
func.func @few_rows(%x: tensor<8x3x10xf32>, %dy: tensor<8x16x8xf32>) -> tensor<16x3x3xf32> {
  %0 = shoal.convolution "fb0,io0->fb0" %x, %dy : tensor<8x3x10xf32>, tensor<8x16x8xf32> -> tensor<16x3x3xf32>
  return %0 : tensor<16x3x3xf32>
}

// -----

// What others read as well is there, whole.
// CHECK-LABEL: @others_read_it
// CHECK-NOT: scf.for
#windows = affine_map<(b, r, k, i) -> (b, r + k, i)>
#same = affine_map<(b, r, k, i) -> (b, r, k, i)>
func.func @others_read_it(%x: tensor<4x16x8xf32>, %w: tensor<3x8x16xf32>) -> (tensor<4x14x16xf32>, tensor<4x14x3x8xf32>) {
  %0 = tensor.empty() : tensor<4x14x3x8xf32>
  %1 = linalg.generic {indexing_maps = [#windows, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<4x16x8xf32>) outs(%0 : tensor<4x14x3x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x14x3x8xf32>
  %2 = tensor.empty() : tensor<4x14x16xf32>
  %3 = rt.einsum "brki,kio->bro" ins(%1, %w : tensor<4x14x3x8xf32>, tensor<3x8x16xf32>)
         outs(%2 : tensor<4x14x16xf32>) -> tensor<4x14x16xf32>
  return %3, %1 : tensor<4x14x16xf32>, tensor<4x14x3x8xf32>
}

// -----

// Rows that are no sum of loops: no part of the operand would do for a part of
// the patches.
// CHECK-LABEL: @rows_twice
// CHECK-NOT: scf.for
#twice = affine_map<(r, k, i) -> (r floordiv 2 + k, i)>
#each = affine_map<(r, k, i) -> (r, k, i)>
func.func @rows_twice(%x: tensor<16x8xf32>, %w: tensor<3x8x16xf32>) -> tensor<28x16xf32> {
  %0 = tensor.empty() : tensor<28x3x8xf32>
  %1 = linalg.generic {indexing_maps = [#twice, #each], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<16x8xf32>) outs(%0 : tensor<28x3x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<28x3x8xf32>
  %2 = tensor.empty() : tensor<28x16xf32>
  %3 = rt.einsum "rki,kio->ro" ins(%1, %w : tensor<28x3x8xf32>, tensor<3x8x16xf32>)
         outs(%2 : tensor<28x16xf32>) -> tensor<28x16xf32>
  return %3 : tensor<28x16xf32>
}

// -----

// A convolution and the gradient of its kernel read the same patches, and each
// makes its own: all of them are not held from one to the other.
// CHECK-LABEL: @patches_of_two_products
// CHECK-NOT: outs(%{{.+}} : tensor<8x8x8x3x3x4xf32>)
// CHECK: scf.for
// CHECK: rt.einsum "brsxyi,xyio->brso" ins({{.+}} : tensor<1x2x8x3x3x4xf32>
// CHECK: %[[ALL:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<8x8x8x3x3x4xf32>)
// CHECK: rt.einsum "ixyrsb,ixyo->rsbo" ins(%[[ALL]],
func.func @patches_of_two_products(%x: tensor<8x8x8x4xf32>, %k: tensor<3x3x4x8xf32>, %dy: tensor<8x8x8x8xf32>) -> (tensor<8x8x8x8xf32>, tensor<3x3x4x8xf32>) {
  %0 = shoal.convolution "b01f,01io->b01f" %x, %k low = [1, 1] high = [1, 1] : tensor<8x8x8x4xf32>, tensor<3x3x4x8xf32> -> tensor<8x8x8x8xf32>
  %1 = shoal.convolution "f01b,i01o->01bf" %x, %dy low = [1, 1] high = [1, 1] : tensor<8x8x8x4xf32>, tensor<8x8x8x8xf32> -> tensor<3x3x4x8xf32>
  return %0, %1 : tensor<8x8x8x8xf32>, tensor<3x3x4x8xf32>
}

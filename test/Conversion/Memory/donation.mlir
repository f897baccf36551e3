// RUN: shoal-opt %s --shoal-lower-to-cuda --split-input-file | FileCheck %s
// RUN: shoal-opt %s --shoal-lower-to-cpu --split-input-file | FileCheck %s --check-prefix=CPU

// Weights and their momentum are updated where they are; the arena is empty.
// CHECK: func.func @update({{.*}}, %arg5: memref<0xi8>)
// CHECK-SAME: shoal.donors = array<i64: 0, 1>
// CHECK: rt.launch {{.*}} ins(%arg2 : {{.*}}) outs(%arg{{[01]}}, %arg{{[01]}} :
// CHECK-NOT: {{[^a-z]}}rt.
// CPU: llvm.func @update
// CPU-SAME: shoal.donors = array<i64: 0, 1>
func.func @update(%w: tensor<64x64xf32> {shoal.donated}, %m: tensor<64x64xf32> {shoal.donated}, %g: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %sum = arith.addf %m, %g : tensor<64x64xf32>
  %new = arith.subf %w, %sum : tensor<64x64xf32>
  return %new, %sum : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// The argument is read for the last time before the result begins.
// CHECK: func.func @made_behind
// CHECK-SAME: shoal.donors = array<i64: 0>
// CHECK: rt.einsum {{.*}} ins(%arg0, %arg1
// CHECK: rt.einsum {{.*}} outs(%arg0 :
func.func @made_behind(%x: tensor<8x8xf32> {shoal.donated}, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = shoal.einsum "BI,IO->BO" %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = shoal.einsum "BI,IO->BO" %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// The product reads what it would write, the other is no result's type, and
// swapped arguments each go where they were.
// CHECK-LABEL: func.func @read_too_late
// CHECK-NOT: shoal.donors
// CHECK: return
func.func @read_too_late(%x: tensor<8x8xf32> {shoal.donated}, %w: tensor<8x8xf32>, %o: tensor<8xf32> {shoal.donated}) -> tensor<8x8xf32> {
  %1 = shoal.einsum "BI,IO->BO" %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @swapped
// CHECK-SAME: shoal.donors = array<i64: 1, 0>
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: return
func.func @swapped(%a: tensor<8xf32> {shoal.donated}, %b: tensor<8xf32> {shoal.donated}) -> (tensor<8xf32>, tensor<8xf32>) {
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// Rows are added to other rows of the donated argument: the result cannot be
// made there, and nothing is copied first. Nor over what was computed, but over
// the argument then.
// CHECK-LABEL: func.func @rows_of_the_donor
// CHECK-NOT: shoal.donors
// CHECK: %[[Y:.+]] = memref.view %arg3
// CHECK: rt.launch {{.*}} ins(%arg1, %arg0, %{{.*}}) outs(%[[Y]] :
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: return
func.func @rows_of_the_donor(%x: tensor<32x64xf32> {shoal.donated}, %rows: tensor<32xi32>) -> tensor<32x64xf32> {
  %0 = shoal.gather %x, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<32x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %1 = arith.addf %0, %x : tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}

// CHECK-LABEL: func.func @rows_of_a_value
// CHECK: rt.launch {{.*}} outs(%[[VALUE:.*]] : memref<32x64xf32>)
// CHECK: rt.launch {{.*}} ins(%arg1, %[[VALUE]], %{{.*}}) outs(%arg0 :
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: return
func.func @rows_of_a_value(%x: tensor<32x64xf32> {shoal.donated}, %rows: tensor<32xi32>) -> tensor<32x64xf32> {
  %e = math.exp %x : tensor<32x64xf32>
  %0 = shoal.gather %e, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0] index_vector_dim = 1
      slice_sizes = [1, 64] : (tensor<32x64xf32>, tensor<32xi32>) -> tensor<32x64xf32>
  %1 = arith.addf %0, %e : tensor<32x64xf32>
  %2 = math.exp %1 : tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Bufferization sees by itself what a body reads: told to write over it, it
// makes a copy.
// CHECK-LABEL: func.func @told_to
// CHECK: rt.copy ins(%arg0 : memref<32x64xf32>)
// CHECK: rt.launch
func.func @told_to(%x: tensor<32x64xf32> {shoal.donated}, %rows: tensor<32xi32>) -> tensor<32x64xf32> {
  %0 = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<32xi32>) outs(%x : tensor<32x64xf32>) {
  ^bb0(%row: i32, %old: f32):
    %i = arith.index_cast %row : i32 to index
    %j = linalg.index 1 : index
    %other = tensor.extract %x[%i, %j] : tensor<32x64xf32>
    %sum = arith.addf %old, %other : f32
    linalg.yield %sum : f32
  } -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}

// RUN: shoal-opt %s --shoal-lower-to-cuda --split-input-file | FileCheck %s
// RUN: shoal-opt %s --shoal-lower-to-cpu --split-input-file | FileCheck %s --check-prefix=CPU

// Weights and their momentum are updated where they are; the arena is empty.
// CHECK: func.func @update({{.*}}, %arg5: memref<0xi8>)
// CHECK-SAME: shoal.donors = array<i64: 0, 1>
// CHECK: rt.call "launch" {{.*}} ins(%arg2 : {{.*}}) outs(%arg{{[01]}}, %arg{{[01]}} :
// CHECK-NOT: rt.call
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
// CHECK: rt.call "einsum" {{.*}} ins(%arg0, %arg1
// CHECK: rt.call "einsum" {{.*}} outs(%arg0 :
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
// CHECK-NOT: rt.call
// CHECK: return
func.func @swapped(%a: tensor<8xf32> {shoal.donated}, %b: tensor<8xf32> {shoal.donated}) -> (tensor<8xf32>, tensor<8xf32>) {
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}

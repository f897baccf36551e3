// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s --mlir-print-op-generic | shoal-opt | FileCheck %s

// Every form survives a round trip, also by its generic form.

// CHECK-LABEL: func @einsum(
func.func @einsum(%x: tensor<8x16x4xbf16>, %w: tensor<4x8xbf16>, %q: tensor<5x5xi32>) -> tensor<i32> {
  // CHECK: shoal.einsum "GSM,ME->GSE" %{{.*}}, %{{.*}} : (tensor<8x16x4xbf16>, tensor<4x8xbf16>) -> tensor<8x16x8xbf16>
  %0 = shoal.einsum "GSM,ME->GSE" %x, %w : (tensor<8x16x4xbf16>, tensor<4x8xbf16>) -> tensor<8x16x8xbf16>
  // CHECK: shoal.einsum "gsm,mE->Egs" {{.*}} -> tensor<8x8x16xf32>
  %1 = shoal.einsum "gsm,mE->Egs" %x, %w : (tensor<8x16x4xbf16>, tensor<4x8xbf16>) -> tensor<8x8x16xf32>
  // CHECK: shoal.einsum "ii->" {{.*}} : (tensor<5x5xi32>) -> tensor<i32>
  %2 = shoal.einsum "ii->" %q : (tensor<5x5xi32>) -> tensor<i32>
  return %2 : tensor<i32>
}

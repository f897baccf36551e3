// RUN: shoal-opt %s --shoal-plan-products="machine=cpu onednn=bf16" | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: shoal-opt %s --shoal-plan-products="machine=cpu onednn=f32" | FileCheck %s --check-prefixes=CHECK,F32
// RUN: shoal-opt %s --shoal-plan-products="machine=cpu onednn=none" | FileCheck %s --check-prefix=NONE
// A GPU has none.
// RUN: shoal-opt %s --shoal-plan-products="machine=gpu onednn=bf16" | FileCheck %s --check-prefix=NONE
// NONE-NOT: gemm onednn

// CHECK-LABEL: @products_of_f32
// CHECK: plan <cpu gemm onednn 512x1024x256 a [256, 1] b [1024, 1] c [1024, 1] batch [8 : 131072, 262144, 524288]>
func.func @products_of_f32(%x: memref<8x512x256xf32>, %w: memref<8x256x1024xf32>, %y: memref<8x512x1024xf32>) {
  rt.einsum "EBI,EIO->EBO" ins(%x, %w : memref<8x512x256xf32>, memref<8x256x1024xf32>) outs(%y : memref<8x512x1024xf32>)
  return
}

// CHECK-LABEL: @bf16_lies_as_it_is
// BF16: plan <cpu gemm onednn 64x96x128 a [128, 1] b [96, 1] c [96, 1]>
// F32: plan <cpu pack lhs {{.*}} pack rhs {{.*}} unpack output {{.*}} gemm 64x96x128
func.func @bf16_lies_as_it_is(%x: memref<64x128xbf16>, %w: memref<128x96xbf16>, %y: memref<64x96xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xbf16>, memref<128x96xbf16>) outs(%y : memref<64x96xbf16>)
  return
}

// CHECK-LABEL: @bf16_into_f32
// BF16: plan <cpu gemm onednn 64x96x128 a [128, 1] b [96, 1] c [96, 1]>
func.func @bf16_into_f32(%x: memref<64x128xbf16>, %w: memref<128x96xbf16>, %y: memref<64x96xf32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xbf16>, memref<128x96xbf16>) outs(%y : memref<64x96xf32>)
  return
}

// CHECK-LABEL: @f16_has_no_unit
// CHECK: plan <cpu pack lhs {{.*}} pack rhs {{.*}} unpack output {{.*}} gemm onednn 64x96x128
func.func @f16_has_no_unit(%x: memref<64x128xf16>, %w: memref<128x96xf16>, %y: memref<64x96xf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xf16>, memref<128x96xf16>) outs(%y : memref<64x96xf16>)
  return
}

// Rows of heads lie between those of others.
// CHECK-LABEL: @heads_of_attention
// CHECK: plan <cpu gemm onednn 64x64x32 a [256, 1] b [1, 256] c [64, 1] batch [4 : 16384, 16384, 32768] [8 : 32, 32, 4096]>
func.func @heads_of_attention(%q: memref<4x64x8x32xf32>, %k: memref<4x64x8x32xf32>, %s: memref<4x8x64x64xf32>) {
  rt.einsum "bqhd,bkhd->bhqk" ins(%q, %k : memref<4x64x8x32xf32>, memref<4x64x8x32xf32>) outs(%s : memref<4x8x64x64xf32>)
  return
}

// CHECK-LABEL: @f64_is_of_blas
// CHECK: plan <cpu gemm 64x96x128 a
func.func @f64_is_of_blas(%x: memref<64x128xf64>, %w: memref<128x96xf64>, %y: memref<64x96xf64>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xf64>, memref<128x96xf64>) outs(%y : memref<64x96xf64>)
  return
}

// CHECK-LABEL: @vectors_are_not_of_onednn
// CHECK: plan <cpu loops [1024 : 1024, 0, 1] over [1024 : 1, 1, 0]>
func.func @vectors_are_not_of_onednn(%w: memref<1024x1024xf32>, %x: memref<1024xf32>, %y: memref<1024xf32>) {
  rt.einsum "ik,k->i" ins(%w, %x : memref<1024x1024xf32>, memref<1024xf32>) outs(%y : memref<1024xf32>)
  return
}

// CHECK-LABEL: @small_ones_are_of_blas
// CHECK: plan <cpu gemm 16x16x16 a
func.func @small_ones_are_of_blas(%x: memref<16x16xf32>, %w: memref<16x16xf32>, %y: memref<16x16xf32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<16x16xf32>, memref<16x16xf32>) outs(%y : memref<16x16xf32>)
  return
}

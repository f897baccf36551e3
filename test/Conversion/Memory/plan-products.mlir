// RUN: shoal-opt %s --shoal-plan-products=machine=cpu | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: shoal-opt %s --shoal-plan-products=machine=gpu | FileCheck %s --check-prefixes=CHECK,DEVICE
// oneDNN is asked for what it is faster at: see plan-products-onednn.mlir.
// A plan that is there stays as it is.
// RUN: shoal-opt %s --shoal-plan-products=machine=cpu --shoal-plan-products=machine=cpu | FileCheck %s --check-prefixes=CHECK,CPU

// CHECK-LABEL: @one_product_for_each_batch
// CPU: plan <cpu gemm 512x1024x256 a [256, 1] b [1024, 1] c [1024, 1] batch [8 : 131072, 262144, 524288]>
// DEVICE: plan <gpu gemm 512x1024x256 a [256, 1] b [1024, 1] c [1024, 1] batch [8 : 131072, 262144, 524288]>
func.func @one_product_for_each_batch(%x: memref<8x512x256xf32>, %w: memref<8x256x1024xf32>, %y: memref<8x512x1024xf32>) {
  rt.einsum "EBI,EIO->EBO" ins(%x, %w : memref<8x512x256xf32>, memref<8x256x1024xf32>) outs(%y : memref<8x512x1024xf32>)
  return
}

// CHECK-LABEL: @letters_in_opposite_orders_are_packed
// CHECK: pack lhs [64 : 64, 1] [64 : 1, 64] [512 : 4096, 4096] gemm 512x512x4096 a [4096, 1] b [512, 1] c [512, 1]>
func.func @letters_in_opposite_orders_are_packed(%x: memref<512x64x64xf32>, %w: memref<64x64x512xf32>, %y: memref<512x512xf32>) {
  rt.einsum "iab,baj->ij" ins(%x, %w : memref<512x64x64xf32>, memref<64x64x512xf32>) outs(%y : memref<512x512xf32>)
  return
}

// On a device a call more costs more than a copy.
// CHECK-LABEL: @sums_of_several_products
// CPU: plan <cpu gemm 64x96x128 a [1024, 1] b [768, 1] c [1, 64] summed [8 : 128, 96, 0]>
// DEVICE: plan <gpu pack lhs [8 : 128, 1] [128 : 1, 8] [64 : 1024, 1024] gemm 64x96x1024 a [1024, 1] b [96, 1] c [1, 64]>
func.func @sums_of_several_products(%x: memref<64x8x128xf32>, %w: memref<128x8x96xf32>, %y: memref<96x64xf32>) {
  rt.einsum "isk,ksj->ji" ins(%x, %w : memref<64x8x128xf32>, memref<128x8x96xf32>) outs(%y : memref<96x64xf32>)
  return
}

// CHECK-LABEL: @a_letter_of_one_operand_alone_is_summed_first
// CHECK: prepare lhs [64 : 4096, 0, 128] [128 : 1, 0, 1] over [32 : 128, 0, 0] gemm 64x96x128 a [128, 1] b [96, 1] c [96, 1]>
func.func @a_letter_of_one_operand_alone_is_summed_first(%x: memref<64x32x128xf32>, %w: memref<128x96xf32>, %y: memref<64x96xf32>) {
  rt.einsum "isk,kj->ij" ins(%x, %w : memref<64x32x128xf32>, memref<128x96xf32>) outs(%y : memref<64x96xf32>)
  return
}

// CHECK-LABEL: @no_library_multiplies_integers
// CHECK: loops [64 : 32, 0, 96] [96 : 0, 1, 1] over [32 : 1, 96, 0]>
func.func @no_library_multiplies_integers(%x: memref<64x32xi32>, %w: memref<32x96xi32>, %y: memref<64x96xi32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x32xi32>, memref<32x96xi32>) outs(%y : memref<64x96xi32>)
  return
}

// CHECK-LABEL: @products_without_a_sum_are_loops
// CHECK: loops [64 : 1, 0, 96] [96 : 0, 1, 1]>
func.func @products_without_a_sum_are_loops(%x: memref<64xf32>, %w: memref<96xf32>, %y: memref<64x96xf32>) {
  rt.einsum "i,j->ij" ins(%x, %w : memref<64xf32>, memref<96xf32>) outs(%y : memref<64x96xf32>)
  return
}

// CHECK-LABEL: @blas_takes_narrow_floats_converted
// CPU: plan <cpu pack lhs [128 : 1, 1] [64 : 128, 128] pack rhs [96 : 1, 1] [128 : 96, 96] unpack output [96 : 1, 1] [64 : 96, 96] gemm 64x96x128
// DEVICE: plan <gpu gemm 64x96x128 a [128, 1] b [96, 1] c [96, 1]>
func.func @blas_takes_narrow_floats_converted(%x: memref<64x128xbf16>, %w: memref<128x96xbf16>, %y: memref<64x96xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xbf16>, memref<128x96xbf16>) outs(%y : memref<64x96xbf16>)
  return
}

// CHECK-LABEL: @sums_that_are_added_to_are_not_rounded
// DEVICE: unpack output {{.*}} gemm {{.*}} summed
func.func @sums_that_are_added_to_are_not_rounded(%x: memref<2048x2x65536xbf16>, %w: memref<65536x2x2048xbf16>, %y: memref<2048x2048xbf16>) {
  rt.einsum "isk,ksj->ij" ins(%x, %w : memref<2048x2x65536xbf16>, memref<65536x2x2048xbf16>) outs(%y : memref<2048x2048xbf16>)
  return
}

// CHECK-LABEL: @floats_of_8_bits
// CPU: plan <cpu pack lhs {{.*}} pack rhs {{.*}} unpack output {{.*}} gemm 64x96x128
// DEVICE: plan <gpu gemm 64x96x128 a [128, 1] b [96, 1] c [96, 1]>
func.func @floats_of_8_bits(%x: memref<64x128xf8E4M3FN>, %w: memref<128x96xf8E5M2>, %y: memref<64x96xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xf8E4M3FN>, memref<128x96xf8E5M2>) outs(%y : memref<64x96xbf16>)
  return
}

// CHECK-LABEL: @loops_take_operands_of_one_type
// CHECK: prepare lhs [2 : 3, 0, 3] [3 : 1, 0, 1] prepare rhs [3 : 2, 0, 2] [2 : 1, 0, 1] loops [2 : 3, 0, 2] [2 : 0, 1, 1] over [3 : 1, 2, 0]>
func.func @loops_take_operands_of_one_type(%x: memref<2x3xf8E4M3FN>, %w: memref<3x2xf8E5M2>, %y: memref<2x2xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<2x3xf8E4M3FN>, memref<3x2xf8E5M2>) outs(%y : memref<2x2xbf16>)
  return
}

// CHECK-LABEL: @mixtures_of_types_are_converted_as_a_whole
// CHECK: convert gemm 256x256x256
func.func @mixtures_of_types_are_converted_as_a_whole(%x: memref<256x256xf32>, %w: memref<256x256xf32>, %y: memref<256x256xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<256x256xf32>, memref<256x256xf32>) outs(%y : memref<256x256xbf16>)
  return
}

// CHECK-LABEL: @nothing_to_sum
// CPU: plan <cpu zero>
// DEVICE: plan <gpu zero>
func.func @nothing_to_sum(%x: memref<64x0xf32>, %w: memref<0x96xf32>, %y: memref<64x96xf32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x0xf32>, memref<0x96xf32>) outs(%y : memref<64x96xf32>)
  return
}

// Bias and activation are no part of a plan, tensors and loops no obstacle.
// CHECK-LABEL: @inside_of_a_loop
// CHECK: rt.einsum {{.*}} bias "j"{{.*}} activation relu outs({{.*}}) plan <{{cpu|gpu}} gemm 64x96x128 a [128, 1] b [96, 1] c [96, 1]> -> tensor<64x96xf32>
func.func @inside_of_a_loop(%x: tensor<64x128xf32>, %w: tensor<128x96xf32>, %b: tensor<96xf32>, %y: tensor<64x96xf32>,
                            %begin: index, %end: index, %step: index) -> tensor<64x96xf32> {
  %0 = scf.for %i = %begin to %end step %step iter_args(%a = %y) -> tensor<64x96xf32> {
    %1 = rt.einsum "ik,kj->ij" ins(%x, %w : tensor<64x128xf32>, tensor<128x96xf32>) bias "j"(%b : tensor<96xf32>)
         activation relu outs(%a : tensor<64x96xf32>) -> tensor<64x96xf32>
    scf.yield %1 : tensor<64x96xf32>
  }
  return %0 : tensor<64x96xf32>
}

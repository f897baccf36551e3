// RUN: shoal-opt %s --shoal-plan-products=machine=cpu --shoal-add-scratch=machine=cpu | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: shoal-opt %s --shoal-plan-products=machine=gpu --shoal-add-scratch=machine=gpu | FileCheck %s --check-prefixes=CHECK,DEVICE

// Nothing is packed: a device's library has its workspace of 32 MiB, and 192
// bytes that aligning it may skip.
// CHECK-LABEL: @as_it_lies
// CPU-NOT: scratch
// DEVICE: memref.alloc() : memref<33554624xi8>
// CHECK: return
func.func @as_it_lies(%x: memref<64x128xf32>, %w: memref<128x96xf32>, %y: memref<64x96xf32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xf32>, memref<128x96xf32>) outs(%y : memref<64x96xf32>)
  return
}

// On a CPU both operands and the result, as f32.
// CHECK-LABEL: @packed
// CPU: memref.alloc() : memref<106496xi8>
// DEVICE: memref.alloc() : memref<33554624xi8>
func.func @packed(%x: memref<64x128xbf16>, %w: memref<128x96xbf16>, %y: memref<64x96xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xbf16>, memref<128x96xbf16>) outs(%y : memref<64x96xbf16>)
  return
}

// A CPU packs one batch index at a time.
// CHECK-LABEL: @packed_batches
// CPU: memref.alloc() : memref<106496xi8>
func.func @packed_batches(%x: memref<8x64x128xbf16>, %w: memref<8x128x96xbf16>, %y: memref<8x64x96xbf16>) {
  rt.einsum "bik,bkj->bij" ins(%x, %w : memref<8x64x128xbf16>, memref<8x128x96xbf16>) outs(%y : memref<8x64x96xbf16>)
  return
}

// CHECK-LABEL: @summed_first
// CPU: memref.alloc() : memref<32768xi8>
// DEVICE: memref.alloc() : memref<33587584xi8>
func.func @summed_first(%x: memref<64x32x128xf32>, %w: memref<128x96xf32>, %y: memref<64x96xf32>) {
  rt.einsum "isk,kj->ij" ins(%x, %w : memref<64x32x128xf32>, memref<128x96xf32>) outs(%y : memref<64x96xf32>)
  return
}

// The result as f32.
// CHECK-LABEL: @converted
// CPU: memref.alloc() : memref<2048xi8>
func.func @converted(%x: memref<16x2xf32>, %w: memref<2x32xf32>, %y: memref<16x32xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<16x2xf32>, memref<2x32xf32>) outs(%y : memref<16x32xbf16>)
  return
}

// Operands of f8 may have to be widened to 16 bits, which a GPU decides, and
// sums are scaled in f32: 2 x 64 x 128, 2 x 128 x 96 and 4 x 64 x 96 bytes.
// CHECK-LABEL: @floats_of_8_bits
// DEVICE: memref.alloc() : memref<33620736xi8>
func.func @floats_of_8_bits(%x: memref<64x128xf8E4M3FN>, %w: memref<128x96xf8E4M3FN>, %s: memref<f32>, %y: memref<64x96xbf16>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x128xf8E4M3FN>, memref<128x96xf8E4M3FN>) scales(%s : memref<f32>) outs(%y : memref<64x96xbf16>)
  return
}

// CHECK-LABEL: @nothing_to_sum
// CHECK-NOT: scratch
// CHECK: return
func.func @nothing_to_sum(%x: memref<64x0xf32>, %w: memref<0x96xf32>, %y: memref<64x96xf32>) {
  rt.einsum "ik,kj->ij" ins(%x, %w : memref<64x0xf32>, memref<0x96xf32>) outs(%y : memref<64x96xf32>)
  return
}

// Groups may overlap: a part of the result is made beside it. Of the weights'
// gradient each group has its own.
// CHECK-LABEL: @groups
// CPU: %[[S:.*]] = memref.alloc() : memref<256xi8>
// CPU: rt.ragged_einsum "TM,EMH,E->TH" {{.*}} scratch(%[[S]]
// CPU: rt.ragged_einsum "TM,TH,E->EMH"
// CPU-NOT: scratch
// CHECK: return
func.func @groups(%x: memref<12x4xf32>, %w: memref<3x4x5xf32>, %begins: memref<3xi32>, %ends: memref<3xi32>, %y: memref<12x5xf32>) {
  rt.ragged_einsum "TM,EMH,E->TH" rows "T" ins(%x, %w : memref<12x4xf32>, memref<3x4x5xf32>)
    groups(%begins, %ends : memref<3xi32>, memref<3xi32>) outs(%y : memref<12x5xf32>)
  rt.ragged_einsum "TM,TH,E->EMH" rows "T" ins(%x, %y : memref<12x4xf32>, memref<12x5xf32>)
    groups(%begins, %ends : memref<3xi32>, memref<3xi32>) outs(%w : memref<3x4x5xf32>)
  return
}

// Rolls and shifts along a split dimension send the rows that change their
// device, each once: a row has 256 bytes.
//
// RUN: shoal-opt %s --shoal-partition --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-run %s --entry=roll_two --random-inputs=1 --compare
// RUN: shoal-run %s --entry=roll_and_add --random-inputs=1 --compare
// RUN: shoal-run %s --entry=roll_back --random-inputs=1 --compare
// RUN: shoal-run %s --entry=roll_past_a_block --random-inputs=1 --compare
// RUN: shoal-run %s --entry=roll_uneven --random-inputs=1 --compare
// RUN: shoal-run %s --entry=roll_uneven_back --random-inputs=1 --compare
// RUN: shoal-run %s --entry=roll_uneven_far --random-inputs=1 --compare
// RUN: shoal-run %s --entry=shift --random-inputs=1 --compare
// RUN: shoal-run %s --entry=unsplit --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 8]>

// CHECK-LABEL: @roll_two
// CHECK-NEXT: collective_permute {"x"} {{.*}}: tensor<2x64xf32> -> tensor<2x64xf32> 512 bytes
// CHECK-NEXT: in all 512 bytes
func.func @roll_two(%x: tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %a = shoal.slice %x starts = [4094, 0] limits = [4096, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<2x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [4094, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<4094x64xf32>
  %y = shoal.concatenate %a, %b dim = 0 : (tensor<2x64xf32>, tensor<4094x64xf32>) -> tensor<4096x64xf32>
  return %y : tensor<4096x64xf32>
}

// CHECK-LABEL: @roll_and_add
// CHECK: in all 2048 bytes
func.func @roll_and_add(%x: tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %a = shoal.slice %x starts = [4088, 0] limits = [4096, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<8x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [4088, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<4088x64xf32>
  %r = shoal.concatenate %a, %b dim = 0 : (tensor<8x64xf32>, tensor<4088x64xf32>) -> tensor<4096x64xf32>
  %y = arith.addf %r, %x : tensor<4096x64xf32>
  return %y : tensor<4096x64xf32>
}

// The other way round.
// CHECK-LABEL: @roll_back
// CHECK: in all 512 bytes
func.func @roll_back(%x: tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %a = shoal.slice %x starts = [2, 0] limits = [4096, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<4094x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [2, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<2x64xf32>
  %y = shoal.concatenate %a, %b dim = 0 : (tensor<4094x64xf32>, tensor<2x64xf32>) -> tensor<4096x64xf32>
  return %y : tensor<4096x64xf32>
}

// Each block comes from two devices, and all of it changes its device.
// CHECK-LABEL: @roll_past_a_block
// CHECK-DAG: collective_permute {"x"} {{.*}}: tensor<3x64xf32>
// CHECK-DAG: collective_permute {"x"} {{.*}}: tensor<1x64xf32>
// CHECK: in all 1024 bytes
func.func @roll_past_a_block(%x: tensor<32x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %a = shoal.slice %x starts = [23, 0] limits = [32, 64] strides = [1, 1] : tensor<32x64xf32> -> tensor<9x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [23, 64] strides = [1, 1] : tensor<32x64xf32> -> tensor<23x64xf32>
  %y = shoal.concatenate %a, %b dim = 0 : (tensor<9x64xf32>, tensor<23x64xf32>) -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// 61 rows in blocks of 8, the last one of 5: each device sends on the last 2
// that it has.
// CHECK-LABEL: @roll_uneven
// CHECK-NEXT: collective_permute {"x"} {{.*}}: tensor<2x64xf32> -> tensor<2x64xf32> 512 bytes
// CHECK-NEXT: in all 512 bytes
func.func @roll_uneven(%x: tensor<61x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<61x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %a = shoal.slice %x starts = [59, 0] limits = [61, 64] strides = [1, 1] : tensor<61x64xf32> -> tensor<2x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [59, 64] strides = [1, 1] : tensor<61x64xf32> -> tensor<59x64xf32>
  %y = shoal.concatenate %a, %b dim = 0 : (tensor<2x64xf32>, tensor<59x64xf32>) -> tensor<61x64xf32>
  return %y : tensor<61x64xf32>
}

// CHECK-LABEL: @roll_uneven_back
// CHECK-NEXT: collective_permute {"x"} {{.*}}: tensor<5x64xf32> -> tensor<5x64xf32> 1280 bytes
// CHECK-NEXT: in all 1280 bytes
func.func @roll_uneven_back(%x: tensor<61x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<61x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.roll %x dim = 0 shift = 56 : tensor<61x64xf32>
  return %y : tensor<61x64xf32>
}

// The last device has 5 rows, so two windows bring 6.
// CHECK-LABEL: @roll_uneven_far
// CHECK-NEXT: halo_exchange {{.*}} 1536 bytes
// CHECK-NEXT: halo_exchange {{.*}} 1536 bytes
// CHECK-NEXT: in all 3072 bytes
func.func @roll_uneven_far(%x: tensor<61x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<61x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.roll %x dim = 0 shift = 6 : tensor<61x64xf32>
  return %y : tensor<61x64xf32>
}

// CHECK-LABEL: @shift
// CHECK-NEXT: halo_exchange {{.*}} 2048 bytes
// CHECK-NEXT: in all 2048 bytes
func.func @shift(%x: tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4096x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %a = arith.constant dense<0.0> : tensor<8x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [4088, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<4088x64xf32>
  %y = shoal.concatenate %a, %b dim = 0 : (tensor<8x64xf32>, tensor<4088x64xf32>) -> tensor<4096x64xf32>
  return %y : tensor<4096x64xf32>
}

// CHECK-LABEL: @unsplit
// CHECK: in all 0 bytes
func.func @unsplit(%x: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %y = shoal.roll %x dim = 1 shift = 5 : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

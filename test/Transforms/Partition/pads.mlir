// Paddings that repeat rows, as JAX writes jnp.pad of 4096 rows on 8 devices:
// rows of the ends and the tensor side by side. Rows that are repeated go to
// the devices that need them, and nothing is gathered. A row has 256 bytes.
//
// The law: of k rows that one end repeats a device sends k at most to bring
// them apart, one row a device, and fetches k; the tensor's own rows move by k,
// and by one a device where the result's blocks are larger.
//
// RUN: shoal-opt %s --shoal-partition=flops-per-byte=1000 --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-run %s --entry=wrap_1 --random-inputs=1 --compare
// RUN: shoal-run %s --entry=wrap_2 --random-inputs=1 --compare
// RUN: shoal-run %s --entry=wrap_8 --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reflect_1 --random-inputs=1 --compare
// RUN: shoal-run %s --entry=reflect_8 --random-inputs=1 --compare
// RUN: shoal-run %s --entry=edge_8 --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 8]>

#rows = #shoal.sharding<@mesh, [{"x"}, {}]>

// CHECK-LABEL: @wrap_1
// CHECK-NOT: all_gather
// CHECK: in all 2688 bytes
func.func @wrap_1(%x: tensor<4096x64xf32> {shoal.sharding = #rows}) -> (tensor<4098x64xf32> {shoal.sharding = #rows}) {
  %a = shoal.slice %x starts = [4095, 0] limits = [4096, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<1x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [1, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<1x64xf32>
  %y = shoal.concatenate %a, %x, %b dim = 0 : (tensor<1x64xf32>, tensor<4096x64xf32>, tensor<1x64xf32>) -> tensor<4098x64xf32>
  return %y : tensor<4098x64xf32>
}

// CHECK-LABEL: @wrap_2
// CHECK-NOT: all_gather
// CHECK: in all 2560 bytes
func.func @wrap_2(%x: tensor<4096x64xf32> {shoal.sharding = #rows}) -> (tensor<4100x64xf32> {shoal.sharding = #rows}) {
  %a = shoal.slice %x starts = [4094, 0] limits = [4096, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<2x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [2, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<2x64xf32>
  %y = shoal.concatenate %a, %x, %b dim = 0 : (tensor<2x64xf32>, tensor<4096x64xf32>, tensor<2x64xf32>) -> tensor<4100x64xf32>
  return %y : tensor<4100x64xf32>
}

// CHECK-LABEL: @wrap_8
// CHECK-NOT: all_gather
// CHECK: in all 5632 bytes
func.func @wrap_8(%x: tensor<4096x64xf32> {shoal.sharding = #rows}) -> (tensor<4112x64xf32> {shoal.sharding = #rows}) {
  %a = shoal.slice %x starts = [4088, 0] limits = [4096, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<8x64xf32>
  %b = shoal.slice %x starts = [0, 0] limits = [8, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<8x64xf32>
  %y = shoal.concatenate %a, %x, %b dim = 0 : (tensor<8x64xf32>, tensor<4096x64xf32>, tensor<8x64xf32>) -> tensor<4112x64xf32>
  return %y : tensor<4112x64xf32>
}

// CHECK-LABEL: @reflect_1
// CHECK-NOT: all_gather
// CHECK: in all 2688 bytes
func.func @reflect_1(%x: tensor<4096x64xf32> {shoal.sharding = #rows}) -> (tensor<4098x64xf32> {shoal.sharding = #rows}) {
  %s = shoal.slice %x starts = [1, 0] limits = [2, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<1x64xf32>
  %a = shoal.reverse %s dims = [0] : tensor<1x64xf32>
  %h = shoal.concatenate %a, %x dim = 0 : (tensor<1x64xf32>, tensor<4096x64xf32>) -> tensor<4097x64xf32>
  %e = shoal.slice %h starts = [4095, 0] limits = [4096, 64] strides = [1, 1] : tensor<4097x64xf32> -> tensor<1x64xf32>
  %b = shoal.reverse %e dims = [0] : tensor<1x64xf32>
  %y = shoal.concatenate %h, %b dim = 0 : (tensor<4097x64xf32>, tensor<1x64xf32>) -> tensor<4098x64xf32>
  return %y : tensor<4098x64xf32>
}

// CHECK-LABEL: @reflect_8
// CHECK-NOT: all_gather
// CHECK: in all 6144 bytes
func.func @reflect_8(%x: tensor<4096x64xf32> {shoal.sharding = #rows}) -> (tensor<4112x64xf32> {shoal.sharding = #rows}) {
  %s = shoal.slice %x starts = [1, 0] limits = [9, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<8x64xf32>
  %a = shoal.reverse %s dims = [0] : tensor<8x64xf32>
  %h = shoal.concatenate %a, %x dim = 0 : (tensor<8x64xf32>, tensor<4096x64xf32>) -> tensor<4104x64xf32>
  %e = shoal.slice %h starts = [4095, 0] limits = [4103, 64] strides = [1, 1] : tensor<4104x64xf32> -> tensor<8x64xf32>
  %b = shoal.reverse %e dims = [0] : tensor<8x64xf32>
  %y = shoal.concatenate %h, %b dim = 0 : (tensor<4104x64xf32>, tensor<8x64xf32>) -> tensor<4112x64xf32>
  return %y : tensor<4112x64xf32>
}

// CHECK-LABEL: @edge_8
// CHECK: all_gather {"x"} {{.*}}tensor<8x16xf32>  448 bytes
// CHECK: in all 6016 bytes
func.func @edge_8(%x: tensor<4096x64xf32> {shoal.sharding = #rows}) -> (tensor<4112x64xf32> {shoal.sharding = #rows}) {
  %ra = shoal.slice %x starts = [0, 0] limits = [1, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<1x64xf32>
  %sa = shoal.reshape %ra : tensor<1x64xf32> -> tensor<64xf32>
  %a = shoal.broadcast_in_dim %sa dims = [1] : tensor<64xf32> -> tensor<8x64xf32>
  %rb = shoal.slice %x starts = [4095, 0] limits = [4096, 64] strides = [1, 1] : tensor<4096x64xf32> -> tensor<1x64xf32>
  %sb = shoal.reshape %rb : tensor<1x64xf32> -> tensor<64xf32>
  %b = shoal.broadcast_in_dim %sb dims = [1] : tensor<64xf32> -> tensor<8x64xf32>
  %y = shoal.concatenate %a, %x, %b dim = 0 : (tensor<8x64xf32>, tensor<4096x64xf32>, tensor<8x64xf32>) -> tensor<4112x64xf32>
  return %y : tensor<4112x64xf32>
}

// What brings the experts' rows back to their tokens and sums them, of the size
// of a layer of Mixtral 8x7B: one kernel that reads each row once (67 MB), by
// 16 bytes a thread, and writes the sums (34 MB).
//
// RUN: shoal-opt %s --shoal-lower-to-cuda | FileCheck %s

// CHECK-LABEL: func.func @combine
// CHECK: rt.launch 0 grid [8192, 1, 1] block [256, 1, 1] touches [#rt.touch<read 32768 from 0>, #rt.touch<read 32768 from 0>, #rt.touch<read 67108864 from 0>, #rt.touch<write 33554432 from 0>]
// CHECK-NOT: {{[^a-z]}}rt.
// CHECK: gpu.func @combine_kernel_0
// CHECK-SAME: shoal.schedule = "map vector=8 block=256x1 blocks=8192"
// CHECK-COUNT-2: vector.load %arg2{{.*}} {alignment = 16 : i64} : memref<33554432xbf16>, vector<8xbf16>
// CHECK-NOT: vector.load
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<16777216xbf16>, vector<8xbf16>
func.func @combine(%outputs: tensor<8192x4096xbf16>, %places: tensor<8192xi32>, %weights: tensor<4096x2xf32>)
    -> tensor<4096x4096xbf16> {
  %back = shoal.gather %outputs, %places offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 4096] : (tensor<8192x4096xbf16>, tensor<8192xi32>) -> tensor<8192x4096xbf16>
  %pairs = shoal.reshape %back : tensor<8192x4096xbf16> -> tensor<4096x2x4096xbf16>
  %each_weight = shoal.broadcast_in_dim %weights dims = [0, 1] : tensor<4096x2xf32> -> tensor<4096x2x4096xf32>
  %wide = arith.extf %pairs : tensor<4096x2x4096xbf16> to tensor<4096x2x4096xf32>
  %weighted = arith.mulf %wide, %each_weight : tensor<4096x2x4096xf32>
  %sum = shoal.reduce sum %weighted dims = [1] : tensor<4096x2x4096xf32> -> tensor<4096x4096xf32>
  %y = arith.truncf %sum : tensor<4096x4096xf32> to tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

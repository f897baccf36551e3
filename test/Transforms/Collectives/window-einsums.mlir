// RUN: shoal-opt %s --shoal-window-einsums=overlap --canonicalize --cse --shoal-verify-collectives | FileCheck %s
// RUN: shoal-opt %s --shoal-window-einsums=bytes=32768 --canonicalize --cse | FileCheck %s --check-prefix=LIMIT

shoal.mesh @mesh = <["x" = 4, "y" = 2]>

// The letter is in the result: blocks are put next to each other.
// LIMIT-LABEL: @free
// LIMIT: spmd.all_gather
// LIMIT-NOT: shoal.while
// CHECK-LABEL: @free
// CHECK: %[[I:.*]] = spmd.axis_index @mesh {"x"}
// CHECK: shoal.while (%[[STEP:.*]] = %{{.*}}, %[[BLOCK:.*]] = %arg0, %[[Y:.*]] = %{{.*}}) : tensor<i64>, tensor<64x32xf32>, tensor<256x8xf32> cond {
// CHECK: %[[NEXT:.*]] = spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %[[BLOCK]] {shift = 1 : i64, why = "operand 0"} : tensor<64x32xf32>
// CHECK: %[[PART:.*]] = shoal.einsum "BK,KN->BN" %[[BLOCK]], %arg1 : {{.*}} -> tensor<64x8xf32>
// CHECK: %[[NEW:.*]] = shoal.dynamic_update_slice %[[Y]], %[[PART]]
// CHECK: shoal.yield %{{.*}}, %[[NEXT]], %[[NEW]]
// CHECK-NOT: spmd
// CHECK: shoal.einsum "BK,KN->BN" {{.*}} -> tensor<64x8xf32>
// CHECK-NOT: spmd
// CHECK: return
func.func @free(%x: tensor<64x32xf32>, %w: tensor<32x8xf32>) -> tensor<256x8xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x {why = "operand 0"} : tensor<64x32xf32> -> tensor<256x32xf32>
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<256x32xf32>, tensor<32x8xf32>) -> tensor<256x8xf32>
  return %1 : tensor<256x8xf32>
}

// The letter is summed over, and 13 rows are blocks of 4, 4, 4 and 1: both
// operands are zero past the end. Sums of bf16 stay f32 until the end.
// LIMIT-LABEL: @contracting
// LIMIT-NOT: shoal.while
// CHECK-LABEL: @contracting
// CHECK: %[[X:.*]] = shoal.pad %arg0, {{.*}} : tensor<8x13xbf16>, tensor<bf16> -> tensor<8x16xbf16>
// CHECK: shoal.while (%{{.*}} = %{{.*}}, %[[BLOCK:.*]] = %arg1, %[[SUM:.*]] = %{{.*}}) : tensor<i64>, tensor<4x6xbf16>, tensor<8x6xf32> cond {
// CHECK: spmd.collective_permute {{.*}} %[[BLOCK]]
// CHECK: %[[COLUMNS:.*]] = shoal.dynamic_slice %[[X]]{{.*}} -> tensor<8x4xbf16>
// CHECK: %[[ROWS:.*]] = arith.select %{{.*}}, %[[BLOCK]]
// CHECK: %[[PART:.*]] = shoal.einsum "BK,KN->BN" %[[COLUMNS]], %[[ROWS]] : {{.*}} -> tensor<8x6xf32>
// CHECK: arith.addf %[[SUM]], %[[PART]] : tensor<8x6xf32>
// CHECK: arith.truncf {{.*}} to tensor<8x6xbf16>
// CHECK-NOT: spmd
// CHECK: return
func.func @contracting(%x: tensor<8x13xbf16>, %w: tensor<4x6xbf16>) -> tensor<8x6xbf16> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %w : tensor<4x6xbf16> -> tensor<13x6xbf16>
  %1 = shoal.einsum "BK,KN->BN" %x, %0 : (tensor<8x13xbf16>, tensor<13x6xbf16>) -> tensor<8x6xbf16>
  return %1 : tensor<8x6xbf16>
}

// A batch letter is both cut and put; 8 devices in a ring over two axes.
// CHECK-LABEL: @batch
// CHECK: spmd.axis_index @mesh {"y", "x"}
// CHECK: shoal.while
// CHECK: spmd.collective_permute @mesh {"y", "x"} -> @mesh {"y", "x"} %{{.*}} {shift = 1 : i64} : tensor<2x5x6xf32>
// CHECK: shoal.dynamic_slice %arg0{{.*}} -> tensor<2x4x5xf32>
// CHECK: shoal.einsum "EBK,EKN->EBN" {{.*}} -> tensor<2x4x6xf32>
// CHECK: shoal.dynamic_update_slice
func.func @batch(%x: tensor<16x4x5xf32>, %w: tensor<2x5x6xf32>) -> tensor<16x4x6xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"y", "x"}, {}, {}] %w : tensor<2x5x6xf32> -> tensor<16x5x6xf32>
  %1 = shoal.einsum "EBK,EKN->EBN" %x, %0 : (tensor<16x4x5xf32>, tensor<16x5x6xf32>) -> tensor<16x4x6xf32>
  return %1 : tensor<16x4x6xf32>
}

// Two devices need no loop: one permute, two einsums.
// CHECK-LABEL: @two_devices
// CHECK-NOT: shoal.while
// CHECK-COUNT-1: spmd.collective_permute
// CHECK-COUNT-2: shoal.einsum
// CHECK-NOT: spmd
// CHECK: return
func.func @two_devices(%x: tensor<64x32xf32>, %w: tensor<32x8xf32>) -> tensor<128x8xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"y"}, {}] %x : tensor<64x32xf32> -> tensor<128x32xf32>
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<128x32xf32>, tensor<32x8xf32>) -> tensor<128x8xf32>
  return %1 : tensor<128x8xf32>
}

// Queries and keys share one loop, although the weights of the keys come
// behind the queries.
// CHECK-LABEL: @two_readers
// CHECK: %[[WK:.*]] = spmd.all_reduce sum @mesh {"y"} %arg2
// CHECK: shoal.while {{.*}} : tensor<i64>, tensor<64x32xf32>, tensor<256x8xf32>, tensor<8x256xf32> cond {
// CHECK-COUNT-1: spmd.collective_permute
// CHECK: shoal.einsum "BK,KN->BN" {{.*}}, %arg1
// CHECK: shoal.einsum "BK,KN->NB" {{.*}}, %[[WK]]
// CHECK: shoal.yield
// CHECK-NOT: spmd
// CHECK: return
func.func @two_readers(%x: tensor<64x32xf32>, %wq: tensor<32x8xf32>, %wk: tensor<32x8xf32>) -> (tensor<256x8xf32>, tensor<8x256xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<64x32xf32> -> tensor<256x32xf32>
  %q = shoal.einsum "BK,KN->BN" %0, %wq : (tensor<256x32xf32>, tensor<32x8xf32>) -> tensor<256x8xf32>
  %w = spmd.all_reduce sum @mesh {"y"} %wk : tensor<32x8xf32>
  %k = shoal.einsum "BK,KN->NB" %0, %w : (tensor<256x32xf32>, tensor<32x8xf32>) -> tensor<8x256xf32>
  return %q, %k : tensor<256x8xf32>, tensor<8x256xf32>
}

// The sums go round. The first one is that of the block of the device before.
// CHECK-LABEL: @scatter
// CHECK: %[[FIRST:.*]] = shoal.einsum "BK,KN->BN" {{.*}} -> tensor<64x8xf32>
// CHECK: shoal.while (%{{.*}} = %{{.*}}, %[[SUM:.*]] = %[[FIRST]]) : tensor<i64>, tensor<64x8xf32> cond {
// CHECK: %[[COME:.*]] = spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %[[SUM]] {shift = 1 : i64, why = "result 0"}
// CHECK: %[[ROWS:.*]] = shoal.dynamic_slice %arg0{{.*}} -> tensor<64x32xf32>
// CHECK: %[[PART:.*]] = shoal.einsum "BK,KN->BN" %[[ROWS]], %arg1
// CHECK: arith.addf %[[COME]], %[[PART]]
// CHECK-NOT: spmd
// CHECK-NOT: shoal.einsum
// CHECK: return
func.func @scatter(%x: tensor<256x32xf32>, %w: tensor<32x8xf32>) -> tensor<64x8xf32> attributes {shoal.spmd} {
  %0 = shoal.einsum "BK,KN->BN" %x, %w : (tensor<256x32xf32>, tensor<32x8xf32>) -> tensor<256x8xf32>
  %1 = spmd.reduce_scatter sum @mesh [{"x"}, {}] %0 {why = "result 0"} : tensor<256x8xf32> -> tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// Of two collectives around an einsum the larger value decides.
// CHECK-LABEL: @gather_and_scatter
// CHECK: spmd.all_gather
// CHECK: spmd.collective_permute {{.*}} : tensor<64x8xf32>
// CHECK-NOT: spmd.reduce_scatter
func.func @gather_and_scatter(%x: tensor<64x4xf32>, %w: tensor<4x8xf32>) -> tensor<64x8xf32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %x : tensor<64x4xf32> -> tensor<256x4xf32>
  %1 = shoal.einsum "BK,KN->BN" %0, %w : (tensor<256x4xf32>, tensor<4x8xf32>) -> tensor<256x8xf32>
  %2 = spmd.reduce_scatter sum @mesh [{"x"}, {}] %1 : tensor<256x8xf32> -> tensor<64x8xf32>
  return %2 : tensor<64x8xf32>
}

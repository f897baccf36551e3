// RUN: shoal-run %s --entry=column_parallel --devices=8 --random-inputs=1 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-run %s --entry=weights_by_summed_letter --devices=8 --random-inputs=2 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-run %s --entry=two_axes_in_another_order --devices=8 --random-inputs=3 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-run %s --entry=batch --devices=8 --random-inputs=4 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-run %s --entry=empty_shards --devices=8 --random-inputs=5 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-run %s --entry=bf16 --devices=8 --random-inputs=6 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-run %s --entry=sums --devices=8 --random-inputs=7 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-run %s --entry=layers --devices=8 --random-inputs=8 --compare --windowed-einsum-bytes=1 --windowed-einsum-overlap | FileCheck %s
// RUN: shoal-opt %s --shoal-partition='windowed-einsum-bytes=1 windowed-einsum-overlap=true' | FileCheck %s --check-prefix=LOOPS

// Windowed einsums compute what the global program does: even and uneven blocks,
// shards without rows, device orders, rings of 2, 4 and 8. The padding is NaN.

// CHECK: : ok

shoal.mesh @mesh = <["x" = 4, "y" = 2], device_ids = [3, 1, 4, 0, 5, 2, 7, 6]>

// LOOPS-LABEL: @column_parallel
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute {{.*}}shift = 1
func.func @column_parallel(%x: tensor<61x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<32x400xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<61x400xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x", "y"}]>}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<61x32xf32>, tensor<32x400xf32>) -> tensor<61x400xf32>
  return %y : tensor<61x400xf32>
}

// LOOPS-LABEL: @weights_by_summed_letter
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute {{.*}}shift = 1
func.func @weights_by_summed_letter(%x: tensor<640x29xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}, %w: tensor<29x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<640x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<640x29xf32>, tensor<29x40xf32>) -> tensor<640x40xf32>
  return %y : tensor<640x40xf32>
}

// LOOPS-LABEL: @two_axes_in_another_order
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute @mesh {"y", "x"} -> @mesh {"y", "x"} {{.*}}shift = 1
func.func @two_axes_in_another_order(%x: tensor<640x30xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}, %w: tensor<30x41xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"y", "x"}]>})
    -> (tensor<640x41xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<640x30xf32>, tensor<30x41xf32>) -> tensor<640x41xf32>
  return %y : tensor<640x41xf32>
}

// LOOPS-LABEL: @batch
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute {{.*}}shift = 1
func.func @batch(%x: tensor<7x64x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<7x5x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<7x64x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %y = shoal.einsum "EBK,EKN->EBN" %x, %w : (tensor<7x64x5xf32>, tensor<7x5x6xf32>) -> tensor<7x64x6xf32>
  return %y : tensor<7x64x6xf32>
}

// 5 rows over 8 devices.
// LOOPS-LABEL: @empty_shards
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute {{.*}}shift = 1
func.func @empty_shards(%x: tensor<640x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}, %w: tensor<5x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<640x40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<640x5xf32>, tensor<5x40xf32>) -> tensor<640x40xf32>
  return %y : tensor<640x40xf32>
}

// LOOPS-LABEL: @bf16
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute {{.*}}shift = 1
func.func @bf16(%x: tensor<640x29xbf16> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}, %w: tensor<29x40xbf16> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<640x40xbf16> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<640x29xbf16>, tensor<29x40xbf16>) -> tensor<640x40xbf16>
  return %y : tensor<640x40xbf16>
}

// Partial sums over x, scattered along 45 rows: blocks of 12, 12, 12 and 9.
// LOOPS-LABEL: @sums
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute {{.*}}shift = 1
func.func @sums(%x: tensor<45x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<64x50xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<45x50xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %y = shoal.einsum "BK,KN->BN" %x, %w : (tensor<45x64xf32>, tensor<64x50xf32>) -> tensor<45x50xf32>
  return %y : tensor<45x50xf32>
}

// In a loop of the program's own; each layer gathers its input.
// LOOPS-LABEL: @layers
// LOOPS: shoal.while
// LOOPS: shoal.while
// LOOPS: spmd.collective_permute {{.*}}shift = 1
func.func @layers(%x: tensor<64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}, %wi: tensor<32x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}, %wo: tensor<64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %x) : tensor<i32>, tensor<64x32xf32> cond {
    %more = arith.cmpi slt, %i, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %h = shoal.einsum "BK,KN->BN" %a, %wi : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %hs = shoal.sharding_constraint %h <@mesh, [{}, {"x"}]> : tensor<64x64xf32>
    %t = math.tanh %hs : tensor<64x64xf32>
    %y = shoal.einsum "BK,KN->BN" %t, %wo : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    %ys = shoal.sharding_constraint %y <@mesh, [{"x"}, {}]> : tensor<64x32xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %ys : tensor<i32>, tensor<64x32xf32>
  }
  return %r#1 : tensor<64x32xf32>
}

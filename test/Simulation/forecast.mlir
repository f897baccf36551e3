// How long a step takes on a cluster, from its program: products by their
// shapes, collectives by where their groups lie, loops as often as they run.

// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --stats=%t.json | FileCheck %s
// RUN: python3 -c "import json; p = json.load(open('%t.json'))['predicted']; assert p['machine'] == 'islands' and p['devices'] == 8, p; assert abs(sum(p['seconds_by_kind'].values()) - p['step_seconds']) < 1e-9"
// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --emit=summary | FileCheck %s --check-prefix=SUMMARY
// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --emit=spmd 2>&1 >%t.spmd | FileCheck %s
// RUN: shoal-opt %t.spmd -o /dev/null
// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: not shoalc %s --simulate=%S/Inputs/small.toml 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not shoalc %s --simulate=%t.none 2>&1 | FileCheck %s --check-prefix=NONE

// 10 trips of a product of 2 x 16 x 512 x 512 operations at 1e12 a second. A
// collective over tp stays in an island of 4 devices, one over dp leaves it.
// Gathered columns do not lie in order: what comes is copied.
// CHECK: islands, 8 devices: a step takes 133.07 us (simulated)
// CHECK-NEXT: exposed communication 37.75 us, 28 %
// CHECK-NEXT: packing of collectives 4.98 us, 4 %
// CHECK-NEXT: products at 69.3 % of the peak (MFU)
// CHECK-NEXT: memory {{.*}} of 10.00 GB a device
// CHECK-LABEL: by kind
// CHECK-NEXT: 92.27 us 69 % einsum
// CHECK-LABEL: by what bounds it
// CHECK-DAG: 25.30 us 19 % link of rails
// CHECK-DAG: 12.45 us 9 % link of switch
// CHECK-LABEL: of collectives, by axes
// CHECK-NEXT: 15.20 us 11 % {"tp", "dp"}
// CHECK-NEXT: 12.45 us 9 % {"tp"}
// CHECK-NEXT: 10.09 us 8 % {"dp"}
// CHECK-LABEL: of collectives, by the outermost level
// CHECK-NEXT: 25.30 us 19 % rails
// CHECK-NEXT: 12.45 us 9 % switch
// CHECK-LABEL: the dearest lines
// CHECK-NEXT: 83.89 us 63 % 10x einsum operations
// CHECK-DAG: 15.20 us 11 % 1x all_gather over {"tp"... link of rails
// CHECK-DAG: 12.45 us 9 % 10x all_gather over {"tp"} link of switch

// Its plan is another one where a byte takes as long as more operations.
// CUDA: islands, 8 devices
// CUDA: 26.21 us {{.*}} all_reduce over {"dp"} link of rails

// SUMMARY: all_gather {"tp"} in groups of 4: 98,304 bytes, 10 times, 12.45 us in all (simulated, link of switch), at

// SMALL: error: simulate: the program is for 8 devices, but small has 4
// NONE: error: simulate: cannot read {{.*}}.none

shoal.mesh @mesh = <["dp" = 2, "tp" = 4]>
func.func @main(%x: tensor<128x512xf32>, %w: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<128x512xf32>) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"dp"}, {}]> : tensor<128x512xf32>
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %ten = arith.constant dense<10> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %a = %xs) : tensor<i32>, tensor<128x512xf32> cond {
    %more = arith.cmpi slt, %i, %ten : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %b = shoal.einsum "ik,kj->ij" %a, %w : (tensor<128x512xf32>, tensor<512x512xf32>) -> tensor<128x512xf32>
    %bs = shoal.sharding_constraint %b <@mesh, [{"dp"}, {}]> : tensor<128x512xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %bs : tensor<i32>, tensor<128x512xf32>
  }
  %g = shoal.einsum "ik,ij->kj" %xs, %r#1 : (tensor<128x512xf32>, tensor<128x512xf32>) -> tensor<512x512xf32>
  %gs = shoal.sharding_constraint %g <@mesh, [{}, {}]> : tensor<512x512xf32>
  return %gs, %r#1 : tensor<512x512xf32>, tensor<128x512xf32>
}

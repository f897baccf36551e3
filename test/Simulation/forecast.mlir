// How long a step takes on a cluster, from its program: products by their
// shapes, collectives by where their groups lie, loops as often as they run.

// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --stats=%t.json | FileCheck %s
// RUN: python3 -c "import json; p = json.load(open('%t.json'))['predicted']; assert p['machine'] == 'islands' and p['devices'] == 8, p; assert abs(sum(p['seconds_by_kind'].values()) - p['step_seconds']) < 1e-9"
// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: not shoalc %s --simulate=%S/Inputs/small.toml 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not shoalc %s --simulate=%t.none 2>&1 | FileCheck %s --check-prefix=NONE

// 10 trips of a product of 2 x 16 x 512 x 512 operations at 1e12 a second. A
// collective over tp stays in an island of 4 devices, one over dp leaves it.
// CHECK: islands, 8 devices: a step takes 128.09 us (simulated)
// CHECK-NEXT: exposed communication 32.77 us, 26 %
// CHECK-NEXT: products at 72.0 % of the peak (MFU)
// CHECK-NEXT: memory {{.*}} of 10.00 GB a device
// CHECK-LABEL: by kind
// CHECK-NEXT: 92.27 us 72 % einsum
// CHECK-LABEL: by what bounds it
// CHECK-DAG: 22.94 us 18 % link of rails
// CHECK-DAG: 9.83 us 8 % link of switch
// CHECK-LABEL: the dearest lines
// CHECK-NEXT: 83.89 us 65 % 10x einsum operations
// CHECK-DAG: 13.11 us 10 % 1x all_gather over {"tp"... link of rails
// CHECK-DAG: 9.83 us 8 % 10x all_gather over {"tp"} link of switch

// Its plan is another one where a byte takes as long as more operations.
// CUDA: islands, 8 devices
// CUDA: 26.21 us {{.*}} all_reduce over {"dp"} link of rails

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

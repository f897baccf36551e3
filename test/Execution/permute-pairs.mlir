// Permutes of pairs, in each of which some devices send, get or keep something
// and some do nothing: along one axis inside a region that is manual over it,
// while the rest is split over the other one, and behind another order of the
// devices. Each is one message a device, whatever the pairs are.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoal-run %s --random-inputs=1 --compare | FileCheck %s
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: shoalc %s --emit=summary -o - | FileCheck %s --check-prefix=SUMMARY
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 8 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: diff -r %t/actual %t/expected

// CHECK: reversed: {{.*}}: ok
// CHECK: some: {{.*}}: ok
// CHECK: kept: {{.*}}: ok
// CHECK: none: {{.*}}: ok

// Of rows of 24 bytes two, in halves: what stays where it is is no message.
// SUMMARY: collectives: 2, 48 bytes sent by a device

shoal.mesh @mesh = <["m" = 4, "a" = 2]>

func.func @main(%x: tensor<8x6xf32>)
    -> (tensor<8x6xf32> {shoal.name = "reversed"}, tensor<8x6xf32> {shoal.name = "some"},
        tensor<8x6xf32> {shoal.name = "kept"}, tensor<8x6xf32> {shoal.name = "none"}) {
  %y:4 = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>]
      out [#shoal.sharding<@mesh, [{"m"}, {"a"}]>, #shoal.sharding<@mesh, [{"m"}, {?}]>,
           #shoal.sharding<@mesh, [{"m"}, {?}]>, #shoal.sharding<@mesh, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<2x6xf32>):
    %reversed = spmd.collective_permute @mesh {"m"} -> @mesh {"m"} %l {pairs = array<i64: 0, 3, 1, 2, 2, 1, 3, 0>} : tensor<2x6xf32>
    %e = arith.negf %l : tensor<2x6xf32>
    %some = spmd.collective_permute @mesh {"m"} -> @mesh {"m"} %e {pairs = array<i64: 0, 2, 2, 3>} : tensor<2x6xf32>
    %kept = spmd.collective_permute @mesh {"m"} -> @mesh {"m"} %e {pairs = array<i64: 1, 1, 3, 3>} : tensor<2x6xf32>
    %none = spmd.collective_permute @mesh {"m"} -> @mesh {"m"} %e {pairs = array<i64>} : tensor<2x6xf32>
    shoal.yield %reversed, %some, %kept, %none : tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>
  } : (tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>)
  return %y#0, %y#1, %y#2, %y#3 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
}

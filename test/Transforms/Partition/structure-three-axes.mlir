// A reversal of three dimensions is priced as it is sent, in one exchange of
// 256 bytes: no other sharding of it is cheaper.
//
// RUN: shoal-opt %s --shoal-partition=flops-per-byte=1000 --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-run %s --random-inputs=1 --compare

shoal.mesh @mesh = <["x" = 2, "y" = 2, "z" = 2]>

#all = #shoal.sharding<@mesh, [{"x"}, {"y"}, {"z"}]>

// CHECK-LABEL: @reverse_all
// CHECK: in all 256 bytes in 1 collectives
func.func @reverse_all(%0: tensor<8x8x8xf32> {shoal.sharding = #all}) -> (tensor<8x8x8xf32> {shoal.sharding = #all}) {
  %y = shoal.reverse %0 dims = [0, 1, 2] : tensor<8x8x8xf32>
  return %y : tensor<8x8x8xf32>
}

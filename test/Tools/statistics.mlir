// What passes counted, in any build.

// RUN: shoal-opt %s --shoal-partition --shoal-statistics -o /dev/null 2>&1 | FileCheck %s
// RUN: shoalc %s --emit=spmd --shoal-statistics -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-opt %s --shoal-partition -o /dev/null 2>&1 | count 0

// CHECK: ... Statistics Collected ...
// CHECK-DAG: 1 shoal-assign {{ *}}- Reshards inserted
// CHECK-DAG: 1 shoal-assign {{ *}}- Operands that read a resharded value
// CHECK-DAG: 1 shoal-plan-reshards {{ *}}- Steps of reshards made
// CHECK-DAG: 2 shoal-resolve-annotations {{ *}}- Annotations by GShard resolved

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = shoal.split %x {dim = 0, num_partitions = 4} : tensor<8x16xf32>
  %1 = math.exp %0 : tensor<8x16xf32>
  %2 = shoal.split %1 {dim = 1, num_partitions = 4} : tensor<8x16xf32>
  %3 = math.sin %2 : tensor<8x16xf32>
  %4 = math.cos %2 : tensor<8x16xf32>
  return %3, %4 : tensor<8x16xf32>, tensor<8x16xf32>
}

// Passes decide by the machine that the pipeline of their target names.

// RUN: shoal-opt %s --shoal-lower-to-cuda --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA-DAG: shoal-fuse-rows{machine=gpu}
// CUDA-DAG: shoal-split-reductions{machine=gpu}
// CUDA-DAG: shoal-overlap-collectives{machine=gpu memory=6.250000e-02}
// CUDA-DAG: shoal-map-kernels{machine=gpu max-blocks=0}

// RUN: shoal-opt %s --shoal-overlap-collectives=machine=gpu | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: shoal-opt %s --shoal-overlap-collectives=machine=cpu | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: not shoal-opt %s --shoal-overlap-collectives=machine=abacus 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: Cannot find option named 'abacus'

// Two ops fill the time of a GPU's collective, one that of a CPU's.
// CHECK-LABEL: func.func @two_beside_it
// CHECK: rt.all_reduce
// CHECK: linalg.exp ins(%arg2
// GPU: linalg.exp ins(%arg3
// GPU: linalg.exp ins(%arg1
// CPU: linalg.exp ins(%arg1
// CPU: linalg.exp ins(%arg3
shoal.mesh @mesh = <["x" = 16]>
func.func @two_beside_it(%x: memref<4096xf32>, %sum: memref<4096xf32>, %a: memref<4096xf32>, %b: memref<4096xf32>,
                         %y: memref<4096xf32>, %aa: memref<4096xf32>, %bb: memref<4096xf32>) {
  rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%sum : memref<4096xf32>) {collective = 0 : i64}
  linalg.exp ins(%sum : memref<4096xf32>) outs(%y : memref<4096xf32>)
  linalg.exp ins(%a : memref<4096xf32>) outs(%aa : memref<4096xf32>)
  linalg.exp ins(%b : memref<4096xf32>) outs(%bb : memref<4096xf32>)
  return
}

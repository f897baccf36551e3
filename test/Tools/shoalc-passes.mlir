// What MLIR's options ask of passes they do in the partitioner as in the lowering.
// RUN: shoalc %s -o %t --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: shoalc %s -o %t --mlir-print-ir-after-all --mlir-print-ir-after-change 2>&1 | FileCheck %s --check-prefix=PRINTED

// TIMING: Execution time report
// TIMING: Assign
// TIMING: Execution time report
// TIMING: PlanMemory

// PRINTED: IR Dump After Assign (shoal-assign)
// PRINTED: IR Dump After PlanMemory (shoal-plan-memory)

shoal.mesh @mesh = <["x" = 2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shoal.split %x {dim = 0, num_partitions = 2} : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

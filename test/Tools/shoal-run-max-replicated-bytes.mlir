// shoal-run partitions by the same options as shoalc.
//
// RUN: not shoal-run %s --devices=4 --random-inputs=1 --max-replicated-bytes=255 2>&1 | FileCheck %s
// RUN: shoal-run %s --devices=4 --random-inputs=1 --compare --max-replicated-bytes=256 | FileCheck %s --check-prefix=RUNS
// RUN: shoal-run %s --devices=4 --random-inputs=1 --compare --max-replicated-bytes=255 --allow-replicated=x | FileCheck %s --check-prefix=RUNS
//
// CHECK: error: {{.*}}would be gathered whole on every device: 256 bytes are more than --max-replicated-bytes=255
// RUNS: result0

shoal.mesh @mesh = <["x" = 4]>

func.func @sorted(%x: tensor<64xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
  %y = shoal.sort %x dim = 0 : (tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

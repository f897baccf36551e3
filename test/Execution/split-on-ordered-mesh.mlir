// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-run %s --random-inputs=1 --devices=4 --compare --tolerance=0

// The argument is laid out along the mesh's own order, the split by device
// number: every device has another part, so each sends its own away.

shoal.mesh @ordered = <["x" = 4], device_ids = [3, 2, 1, 0]>

// CHECK-LABEL: @split_moves_parts
// CHECK: spmd.exchange @ordered [{"x"}] ->
func.func @split_moves_parts(%x: tensor<16xf32> {shoal.sharding = #shoal.sharding<@ordered, [{"x"}]>}) -> tensor<16xf32> {
  %0 = math.absf %x : tensor<16xf32>
  %1 = shoal.split %0 {dim = 0, num_partitions = 4} : tensor<16xf32>
  return %1 : tensor<16xf32>
}

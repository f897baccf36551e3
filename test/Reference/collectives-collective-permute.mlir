// RUN: shoal-run %s --print-shards | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @turned = <["x" = 2, "y" = 2], device_ids = [3, 0, 1, 2]>
func.func @main() -> (
    tensor<i32> {shoal.name = "transposed"}, tensor<i32> {shoal.name = "other_order"},
    tensor<i32> {shoal.name = "unnamed"}, tensor<i32> {shoal.name = "ring"},
    tensor<i32> {shoal.name = "turned_ring"}, tensor<i32> {shoal.name = "pairs"},
    tensor<i32> {shoal.name = "turned_pairs"}) attributes {shoal.spmd} {
  %d = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
  // Device 1 at (0, 1) sends to the device with y = 0, x = 1.
  // CHECK: transposed on device 0: tensor<i32> = 0
  // CHECK: transposed on device 1: tensor<i32> = 2
  // CHECK: transposed on device 2: tensor<i32> = 1
  // CHECK: transposed on device 3: tensor<i32> = 3
  %transposed = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %d : tensor<i32>
  // What was at position i goes to the device at position i of the other mesh.
  // CHECK: other_order on device 0: tensor<i32> = 1
  // CHECK: other_order on device 1: tensor<i32> = 2
  // CHECK: other_order on device 2: tensor<i32> = 3
  // CHECK: other_order on device 3: tensor<i32> = 0
  %other_order = spmd.collective_permute @mesh {"x", "y"} -> @turned {"x", "y"} %d : tensor<i32>
  // Axes not named keep their coordinates.
  // CHECK: unnamed on device 0: tensor<i32> = 1
  // CHECK: unnamed on device 3: tensor<i32> = 0
  %unnamed = spmd.collective_permute @mesh {"x"} -> @turned {"x"} %d : tensor<i32>
  // Position i sends to position i + 1, the last one to the first.
  // CHECK: ring on device 0: tensor<i32> = 3
  // CHECK: ring on device 1: tensor<i32> = 0
  // CHECK: ring on device 2: tensor<i32> = 1
  // CHECK: ring on device 3: tensor<i32> = 2
  %ring = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %d {shift = 1} : tensor<i32>
  // Indices 0, 1, 2, 3 over {"y", "x"} are the devices 3, 1, 0, 2.
  // CHECK: turned_ring on device 0: tensor<i32> = 3
  // CHECK: turned_ring on device 1: tensor<i32> = 2
  // CHECK: turned_ring on device 2: tensor<i32> = 1
  // CHECK: turned_ring on device 3: tensor<i32> = 0
  %turned_ring = spmd.collective_permute @turned {"y", "x"} -> @turned {"y", "x"} %d {shift = 2} : tensor<i32>
  // 0 sends to 3 and 3 to 1; nobody sends to 0 and 2, which have zeros.
  // CHECK: pairs on device 0: tensor<i32> = 0
  // CHECK: pairs on device 1: tensor<i32> = 13
  // CHECK: pairs on device 2: tensor<i32> = 0
  // CHECK: pairs on device 3: tensor<i32> = 10
  %ten = arith.constant dense<10> : tensor<i32>
  %e = arith.addi %d, %ten : tensor<i32>
  %pairs = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %e {pairs = array<i64: 0, 3, 3, 1>} : tensor<i32>
  // Index 1 over {"y"} of @mesh, the devices 1 and 3, sends to index 0 over {"y"}
  // of @turned: with the same "x" these are the devices 3 and 1.
  // CHECK: turned_pairs on device 0: tensor<i32> = 0
  // CHECK: turned_pairs on device 1: tensor<i32> = 13
  // CHECK: turned_pairs on device 2: tensor<i32> = 0
  // CHECK: turned_pairs on device 3: tensor<i32> = 11
  %turned_pairs = spmd.collective_permute @mesh {"y"} -> @turned {"y"} %e {pairs = array<i64: 1, 0>} : tensor<i32>
  return %transposed, %other_order, %unnamed, %ring, %turned_ring, %pairs, %turned_pairs
    : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}

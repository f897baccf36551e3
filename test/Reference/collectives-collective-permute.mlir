// RUN: shoal-run %s --print-shards | FileCheck %s

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @turned = <["x" = 2, "y" = 2], device_ids = [3, 0, 1, 2]>
func.func @main() -> (
    tensor<i32> {shoal.name = "transposed"}, tensor<i32> {shoal.name = "other_order"},
    tensor<i32> {shoal.name = "unnamed"}, tensor<i32> {shoal.name = "ring"},
    tensor<i32> {shoal.name = "turned_ring"}) attributes {shoal.spmd} {
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
  return %transposed, %other_order, %unnamed, %ring, %turned_ring : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}

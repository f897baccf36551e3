// RUN: shoal-run %s --print-shards | FileCheck %s

// Device 2 * x + y starts from its number d and 10 * d.
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main() -> (
    tensor<2xi32> {shoal.name = "sum_x"}, tensor<2xi32> {shoal.name = "sum_all"},
    tensor<2xi32> {shoal.name = "max_y"}, tensor<2xi32> {shoal.name = "min_y"},
    tensor<2xi32> {shoal.name = "prod_x"}, tensor<2xi32> {shoal.name = "or_all"},
    tensor<2xi32> {shoal.name = "and_y"}, tensor<1xi32> {shoal.name = "scattered"},
    tensor<1xf32> {shoal.name = "scattered_uneven"}, tensor<bf16> {shoal.name = "rounded_once"}) attributes {shoal.spmd} {
  %d = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
  %ds = shoal.broadcast_in_dim %d dims = [] : tensor<i32> -> tensor<2xi32>
  %scale = arith.constant dense<[1, 10]> : tensor<2xi32>
  %v = arith.muli %ds, %scale : tensor<2xi32>
  // CHECK: sum_x on device 0: tensor<2xi32> = [2, 20]
  // CHECK: sum_x on device 1: tensor<2xi32> = [4, 40]
  // CHECK: sum_x on device 2: tensor<2xi32> = [2, 20]
  // CHECK: sum_x on device 3: tensor<2xi32> = [4, 40]
  %sum_x = spmd.all_reduce sum @mesh {"x"} %v : tensor<2xi32>
  // CHECK-COUNT-4: sum_all on device {{.}}: tensor<2xi32> = [6, 60]
  %sum_all = spmd.all_reduce sum @mesh {"x", "y"} %v : tensor<2xi32>
  // CHECK: max_y on device 0: tensor<2xi32> = [1, 10]
  // CHECK: max_y on device 3: tensor<2xi32> = [3, 30]
  %max_y = spmd.all_reduce max @mesh {"y"} %v : tensor<2xi32>
  // CHECK: min_y on device 1: tensor<2xi32> = [0, 0]
  // CHECK: min_y on device 3: tensor<2xi32> = [2, 20]
  %min_y = spmd.all_reduce min @mesh {"y"} %v : tensor<2xi32>
  // CHECK: prod_x on device 0: tensor<2xi32> = [0, 0]
  // CHECK: prod_x on device 1: tensor<2xi32> = [3, 300]
  %prod_x = spmd.all_reduce prod @mesh {"x"} %v : tensor<2xi32>
  // CHECK-COUNT-4: or_all on device {{.}}: tensor<2xi32> = [3, 30]
  %or_all = spmd.all_reduce or @mesh {"x", "y"} %v : tensor<2xi32>
  // CHECK: and_y on device 2: tensor<2xi32> = [2, 20]
  %and_y = spmd.all_reduce and @mesh {"y"} %v : tensor<2xi32>
  // Sums over {0, 2} and {1, 3}, then the device's own row by x.
  // CHECK: scattered on device 0: tensor<1xi32> = [2]
  // CHECK: scattered on device 1: tensor<1xi32> = [4]
  // CHECK: scattered on device 2: tensor<1xi32> = [20]
  // CHECK: scattered on device 3: tensor<1xi32> = [40]
  %scattered = spmd.reduce_scatter sum @mesh [{"x"}] %v : tensor<2xi32> -> tensor<1xi32>
  %f = arith.sitofp %v : tensor<2xi32> to tensor<2xf32>
  // Two rows over four devices: the devices with x = 1 hold none.
  // CHECK: scattered_uneven on device 0: tensor<1xf32> = [6]
  // CHECK: scattered_uneven on device 1: tensor<1xf32> = [60]
  // CHECK: scattered_uneven on device 2: tensor<1xf32> = [nan]
  // CHECK: scattered_uneven on device 3: tensor<1xf32> = [nan]
  %scattered_uneven = spmd.reduce_scatter sum @mesh [{"x", "y"}] %f : tensor<2xf32> -> tensor<1xf32>

  // 256, 257 -> 256, 258, 259 -> 260 in bf16: 1030 goes to a multiple of 8.
  %b = arith.constant dense<256> : tensor<i32>
  %db = arith.addi %d, %b : tensor<i32>
  %fb = arith.sitofp %db : tensor<i32> to tensor<bf16>
  // CHECK-COUNT-4: rounded_once on device {{.}}: tensor<bf16> = 1032
  %rounded_once = spmd.all_reduce sum @mesh {"x", "y"} %fb : tensor<bf16>
  return %sum_x, %sum_all, %max_y, %min_y, %prod_x, %or_all, %and_y, %scattered, %scattered_uneven, %rounded_once
    : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<1xi32>, tensor<1xf32>, tensor<bf16>
}

// RUN: split-file %s %t
// RUN: shoal-run %t/values.mlir --print-shards | FileCheck %t/values.mlir
// RUN: not shoal-run %t/input.mlir 2>&1 | FileCheck %t/input.mlir
// RUN: not shoal-run %t/negative.mlir 2>&1 | FileCheck %t/negative.mlir
// RUN: not shoal-run %t/output.mlir 2>&1 | FileCheck %t/output.mlir
// RUN: not shoal-run %t/sizes.mlir 2>&1 | FileCheck %t/sizes.mlir
// RUN: not shoal-run %t/twice.mlir 2>&1 | FileCheck %t/twice.mlir

//--- values.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> (tensor<4xi32> {shoal.name = "example"}, tensor<3x2xf32> {shoal.name = "two_slices"}) attributes {shoal.spmd} {
  // As in JAX's page. A line for each device.
  %x = arith.constant dense<[1, 2, 2, 3, 4, 0]> : tensor<6xi32>
  %from = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
  %count = arith.constant dense<[1, 2, 1, 1]> : tensor<4xi32>
  %to = arith.constant dense<[0, 0, 1, 2]> : tensor<4xi32>
  %come = arith.constant dense<[1, 1, 2, 1]> : tensor<4xi32>
  %zeros = arith.constant dense<0> : tensor<4xi32>
  %xl = spmd.all_slice @mesh [{"x"}] %x : tensor<6xi32> -> tensor<3xi32>
  %froml = spmd.all_slice @mesh [{"x"}] %from : tensor<4xi32> -> tensor<2xi32>
  %countl = spmd.all_slice @mesh [{"x"}] %count : tensor<4xi32> -> tensor<2xi32>
  %tol = spmd.all_slice @mesh [{"x"}] %to : tensor<4xi32> -> tensor<2xi32>
  %comel = spmd.all_slice @mesh [{"x"}] %come : tensor<4xi32> -> tensor<2xi32>
  // CHECK{LITERAL}: example on device 0: tensor<4xi32> = [1, 3, 0, 0]
  // CHECK{LITERAL}: example on device 1: tensor<4xi32> = [2, 2, 4, 0]
  %example = spmd.ragged_all_to_all @mesh {"x"} %xl into %zeros send(%froml, %countl) to(%tol) receive(%comel)
      : tensor<3xi32> into tensor<4xi32>, tensor<2xi32>

  // Two slices for each device, of no row, too, wherever that begins; what is not sent stays.
  %y = arith.constant dense<[[1., 2.], [3., 4.], [5., 6.], [7., 8.]]> : tensor<4x2xf32>
  %yl = spmd.all_slice @mesh [{"x"}, {}] %y : tensor<4x2xf32> -> tensor<2x2xf32>
  %from2 = arith.constant dense<[1, 9, 0, 0]> : tensor<4xi64>
  %count2 = arith.constant dense<[1, 0, 0, 1]> : tensor<4xi64>
  %i = spmd.axis_index @mesh {"x"} : tensor<i32>
  %index = arith.extsi %i : tensor<i32> to tensor<i64>
  %to2 = shoal.broadcast_in_dim %index dims = [] : tensor<i64> -> tensor<4xi64>
  %come2 = arith.constant dense<[[1, 0, 1, 0], [0, 1, 0, 1]]> : tensor<2x4xi64>
  %line = spmd.all_slice @mesh [{"x"}, {}] %come2 : tensor<2x4xi64> -> tensor<1x4xi64>
  %come2l = shoal.reshape %line : tensor<1x4xi64> -> tensor<4xi64>
  %nines = arith.constant dense<9.> : tensor<3x2xf32>
  // CHECK{LITERAL}: two_slices on device 0: tensor<3x2xf32> = [[3, 4], [7, 8], [9, 9]]
  // CHECK{LITERAL}: two_slices on device 1: tensor<3x2xf32> = [[1, 2], [5, 6], [9, 9]]
  %slices = spmd.ragged_all_to_all @mesh {"x"} %yl into %nines send(%from2, %count2) to(%to2) receive(%come2l)
      : tensor<2x2xf32> into tensor<3x2xf32>, tensor<4xi64>
  return %example, %slices : tensor<4xi32>, tensor<3x2xf32>
}

//--- input.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> tensor<4xi32> attributes {shoal.spmd} {
  %x = arith.constant dense<1> : tensor<3xi32>
  %y = arith.constant dense<0> : tensor<4xi32>
  %from = arith.constant dense<[2, 0]> : tensor<2xi32>
  %count = arith.constant dense<[2, 1]> : tensor<2xi32>
  %to = arith.constant dense<[0, 0]> : tensor<2xi32>
  %come = arith.constant dense<[2, 1]> : tensor<2xi32>
  // CHECK: error: device 0: input_offsets[0] 2, send_sizes[0] 2: these are not rows of the 3 of the input
  %z = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%from, %count) to(%to) receive(%come)
      : tensor<3xi32> into tensor<4xi32>, tensor<2xi32>
  return %z : tensor<4xi32>
}

//--- negative.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> tensor<4xi32> attributes {shoal.spmd} {
  %x = arith.constant dense<1> : tensor<3xi32>
  %y = arith.constant dense<0> : tensor<4xi32>
  %from = arith.constant dense<[0, 0]> : tensor<2xi32>
  %count = arith.constant dense<[-1, 1]> : tensor<2xi32>
  %to = arith.constant dense<[0, 0]> : tensor<2xi32>
  %come = arith.constant dense<[-1, 1]> : tensor<2xi32>
  // CHECK: error: device 0: input_offsets[0] 0, send_sizes[0] -1: these are not rows of the 3 of the input
  %z = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%from, %count) to(%to) receive(%come)
      : tensor<3xi32> into tensor<4xi32>, tensor<2xi32>
  return %z : tensor<4xi32>
}

//--- output.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> tensor<4xi32> attributes {shoal.spmd} {
  %x = arith.constant dense<1> : tensor<3xi32>
  %y = arith.constant dense<0> : tensor<4xi32>
  %from = arith.constant dense<[0, 0]> : tensor<2xi32>
  %count = arith.constant dense<[0, 3]> : tensor<2xi32>
  %to = arith.constant dense<[3, 2]> : tensor<2xi32>
  %come = arith.constant dense<[0, 0]> : tensor<2xi32>
  // CHECK: error: device 0: output_offsets[1] 2, send_sizes[1] 3: these are not rows of the 4 of the output
  %z = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%from, %count) to(%to) receive(%come)
      : tensor<3xi32> into tensor<4xi32>, tensor<2xi32>
  return %z : tensor<4xi32>
}

//--- sizes.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> tensor<4xi32> attributes {shoal.spmd} {
  %x = arith.constant dense<1> : tensor<3xi32>
  %y = arith.constant dense<0> : tensor<4xi32>
  %from = arith.constant dense<[0, 0]> : tensor<2xi32>
  %count = arith.constant dense<[1, 1]> : tensor<2xi32>
  %to = arith.constant dense<[0, 1]> : tensor<2xi32>
  %come = arith.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: error: device 0: recv_sizes[1] 2: device 1 sends 1
  %z = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%from, %count) to(%to) receive(%come)
      : tensor<3xi32> into tensor<4xi32>, tensor<2xi32>
  return %z : tensor<4xi32>
}

//--- twice.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main() -> tensor<4xi32> attributes {shoal.spmd} {
  %x = arith.constant dense<1> : tensor<3xi32>
  %y = arith.constant dense<0> : tensor<4xi32>
  %from = arith.constant dense<[0, 0]> : tensor<2xi32>
  %count = arith.constant dense<[2, 2]> : tensor<2xi32>
  %to = arith.constant dense<[1, 1]> : tensor<2xi32>
  %come = arith.constant dense<[2, 2]> : tensor<2xi32>
  // CHECK: error: device 0: row 1 of the output is sent by device 0 and by device 1
  %z = spmd.ragged_all_to_all @mesh {"x"} %x into %y send(%from, %count) to(%to) receive(%come)
      : tensor<3xi32> into tensor<4xi32>, tensor<2xi32>
  return %z : tensor<4xi32>
}

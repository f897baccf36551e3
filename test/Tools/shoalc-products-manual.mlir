// Products in a region for one device are those of all devices in the global program, too: no device repeats another's.
//
// RUN: shoalc %s --emit=summary -o - | FileCheck %s

// CHECK: arithmetic: {{[0-9,]+}} operations on a device, 512 of them in products (1.00 times the global program's, over all devices)

shoal.mesh @mesh = <["x" = 4, "y" = 2]>

func.func @f(%x: tensor<16x8xf32>, %w: tensor<8x16xf32>) -> tensor<16x16xf32> {
  %0 = shoal.manual_computation @mesh {"x", "y"} (%x, %w)
      in [#shoal.sharding<@mesh, [{"x"}, {}]>, #shoal.sharding<@mesh, [{}, {"y"}]>]
      out [#shoal.sharding<@mesh, [{"x"}, {"y"}]>] {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>):
    %y = shoal.einsum "SM,MH->SH" %a, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    shoal.yield %y : tensor<4x8xf32>
  } : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

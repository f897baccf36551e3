// RUN: shoal-opt %s --shoal-assign --shoal-explain -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-opt %s --shoal-propagate --shoal-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=HINT

// Where each sharding came from, and what each reshard is for.

shoal.mesh @mesh = <["x" = 2]>

// CHECK: @layer
// CHECK-NEXT: %arg0 argument 0 "tokens" : tensor<8x16xf32> <@mesh, [{"x"}, {}]>  [x: from argument 0 "tokens" at {{.*}}explain.mlir:[[# @LINE + 11]]:19]
// CHECK-NEXT: %0 = math.exp : tensor<8x16xf32> <@mesh, [{"x"}, {}]>  [x: from argument 0 "tokens" at {{.*}} via math.exp]
// CHECK-NEXT: %1 = reshard %0 : tensor<8x16xf32> <@mesh, [{"x"}, {}]> -> <@mesh, [{}, {"x"}]>  128 bytes, for operand 0 of shoal.sharding_constraint at {{.*}}explain.mlir:[[# @LINE + 12]]:8; here meets [x: from argument 0 "tokens" at {{.*}} via math.exp] with [x: from shoal.sharding_constraint at {{.*}}]
// CHECK-NEXT: %2 = shoal.sharding_constraint : tensor<8x16xf32> <@mesh, [{}, {"x"}]>  [x: from shoal.sharding_constraint at {{.*}}]
// CHECK-NEXT: result 0 "y" : tensor<8x16xf32> <@mesh, [{}, {"x"}]>
// CHECK-NEXT: reshards send 128 bytes per device

// HINT: @layer
// HINT-NEXT: %arg0 argument 0 "tokens" : tensor<8x16xf32> <@mesh, [{"x"}, {}]>
// HINT-NEXT: %0 = math.exp
func.func @layer(
                  %tokens: tensor<8x16xf32> {shoal.name = "tokens", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>})
    -> (tensor<8x16xf32> {shoal.name = "y"}) {
  %y = math.exp %tokens : tensor<8x16xf32>
  %z = shoal.sharding_constraint %y <@mesh, [{}, {"x"} ]> : tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

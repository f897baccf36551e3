// RUN: shoal-opt %s --shoal-import --shoal-assign --shoal-verify-assignment --shoal-explain --split-input-file --verify-diagnostics -o /dev/null 2>&1 | FileCheck %s

// What is known outside of a region goes on inside, along the axes that are not
// manual, and what is known inside goes on outside. The region itself says what
// the manual axes split; where another annotation meets it, it is named.

// CHECK-LABEL: @inward
// CHECK: %0 = shoal.sharding_constraint : tensor<8x12xf32> <@mesh, [{"a"}, {"m"}]>
// CHECK: %1 = reshard %0 : tensor<8x12xf32> <@mesh, [{"a"}, {"m"}]> -> <@mesh, [{"m"}, {"a"}]> {{.*}} for operand 0 of shoal.manual_computation at {{.*}}; here meets [a, m: from shoal.sharding_constraint at {{.*}}] with [operand 0 of shoal.manual_computation at {{.*}}]
// CHECK: shoal.manual_computation : tensor<8x12xf32> <@mesh, [{"m"}, {"a"}]>  [m: from result 0 of shoal.manual_computation at {{.*}}; a: from operand 0 of shoal.manual_computation at {{.*}} via math.exp, shoal.manual_computation]
// CHECK: region 0 (%arg1 : tensor<4x12xf32> <@mesh, [{}, {"a"}]>)
// CHECK: math.exp : tensor<4x12xf32> <@mesh, [{}, {"a"}]>  [a: from operand 0 of shoal.manual_computation at {{.*}} via math.exp]
shoal.mesh @mesh = <["m" = 2, "a" = 4]>
func.func @inward(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"a"}, {"m"}]> : tensor<8x12xf32>
  %y = shoal.manual_computation @mesh {"m"} (%xs)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] out [#shoal.sharding<@mesh, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<4x12xf32>):
    %e = math.exp %l : tensor<4x12xf32>
    shoal.yield %e : tensor<4x12xf32>
  } : (tensor<8x12xf32>) -> tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}

// -----

// CHECK-LABEL: @outward
// CHECK: argument 0 : tensor<8x12xf32> <@mesh, [{"m"}, {"a"}]>  [m: from operand 0 of shoal.manual_computation at {{.*}}; a: from shoal.sharding_constraint at {{.*}} via shoal.sharding_constraint, shoal.manual_computation]
// CHECK-NOT: reshard
// CHECK: result 0 : tensor<8x12xf32> <@mesh, [{"m"}, {"a"}]>
shoal.mesh @mesh = <["m" = 2, "a" = 4]>
func.func @outward(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m", ?}, {?}]>] out [#shoal.sharding<@mesh, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<4x12xf32>):
    %ls = shoal.sharding_constraint %l <@mesh, [{}, {"a"}]> : tensor<4x12xf32>
    shoal.yield %ls : tensor<4x12xf32>
  } : (tensor<8x12xf32>) -> tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}

// -----

// Rows that divide by both axes may be split over both, m before a.
// CHECK-LABEL: @behind
// CHECK: argument 0 : tensor<8x12xf32> <@mesh, [{"m", "a"}, {}]>
// CHECK: region 0 (%arg1 : tensor<4x12xf32> <@mesh, [{"a"}, {}]>)
shoal.mesh @mesh = <["m" = 2, "a" = 4]>
func.func @behind(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m", ?}, {?}]>] out [#shoal.sharding<@mesh, [{"m", "a"}, {}]>] {
  ^bb0(%l: tensor<4x12xf32>):
    %e = math.exp %l : tensor<4x12xf32>
    shoal.yield %e : tensor<4x12xf32>
  } : (tensor<8x12xf32>) -> tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}

// -----

shoal.mesh @mesh = <["x" = 2]>
func.func @outside(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error@+1 {{is written for one device: expected it in a region for one device, as of shoal.manual_computation}}
  %y = spmd.all_reduce sum @mesh {"x"} %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

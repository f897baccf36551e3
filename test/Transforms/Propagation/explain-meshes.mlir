// RUN: shoal-opt %s --shoal-import --shoal-assign --shoal-explain -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-opt %s --shoal-import --shoal-partition | FileCheck %s --check-prefix=LOCAL

// Annotations over another mesh than the first are said in the words of the
// program, beside the axes of the first.

// CHECK: argument 0 : tensor<8x16xf32> <@attention, [{"tp":(2)2}, {}]>  [tp:(2)2: from argument 0 <@experts, [{"etp"}, {}]> at
// CHECK: reshard {{.*}} for operand 0 of shoal.sharding_constraint <@experts, [{"ep"}, {}]> at
// CHECK: math.exp {{.*}}tp:(2)2: from operand 0 of shoal.manual_computation <@experts, [{}, {"etp"}]> at
// CHECK: with [operand 0 of shoal.manual_computation <@experts, [{}, {"etp"}]> at
// CHECK: shoal.manual_computation : {{.*}}: from result 0 of shoal.manual_computation <@experts, [{}, {"etp", "ep"}]> at
// CHECK: result 0 : tensor<8x16xf32> <@attention, [{}, {"dp", "tp":(1)2}]>  [as <@experts, [{}, {"ep"}]>]

// LOCAL-NOT: shoal.written
// LOCAL: why = "operand 0 of shoal.sharding_constraint <@experts, [{\22ep\22}, {}]> at
// LOCAL-NOT: shoal.written

shoal.mesh @attention = <["dp" = 2, "tp" = 4]>
shoal.mesh @experts = <["ep" = 4, "etp" = 2]>
func.func @f(%x: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@experts, [{"etp"}, {}]>}, %w: tensor<16x16xf32>) -> (tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@experts, [{}, {"ep"}]>}) {
  %y = shoal.sharding_constraint %x <@experts, [{"ep"}, {}]> : tensor<8x16xf32>
  %e = math.exp %y : tensor<8x16xf32>
  %z = shoal.manual_computation @experts {"etp"} (%e)
      in [#shoal.sharding<@experts, [{}, {"etp"}]>] out [#shoal.sharding<@experts, [{}, {"etp", "ep"}]>] {
  ^bb0(%l: tensor<8x8xf32>):
    %t = math.tanh %l : tensor<8x8xf32>
    shoal.yield %t : tensor<8x8xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

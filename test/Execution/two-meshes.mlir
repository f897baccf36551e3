// Parallel folding (Megatron-Core): attention over one mesh, experts over
// another of the same devices, once in another order.
//
// RUN: shoal-run %s --devices=8 --random-inputs=1 --compare | FileCheck %s
// RUN: shoal-opt %s --shoal-import --shoal-partition | FileCheck %s --check-prefix=SENT
//
// CHECK: result0{{.*}}: ok
// CHECK: result1{{.*}}: ok
// CHECK: result2{{.*}}: ok

shoal.mesh @attention = <["dp" = 2, "cp" = 2, "tp" = 2]>
shoal.mesh @experts = <["edp" = 2, "ep" = 4]>
shoal.mesh @turned = <["ep" = 8], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>

// Between the meshes one exchange, as between axes of one: nothing is gathered.
// SENT-LABEL: func.func @f
// SENT-NOT: = spmd.
// SENT: spmd.exchange @attention [{"dp"}, {"cp"}, {"tp"}] -> @attention [{"dp", "cp", "tp"}, {}, {}] %{{.*}} shape
// SENT: spmd.exchange @turned {{.*}} -> @attention {{.*}}: <@turned, [{\22dp\22, \22cp\22, \22tp\22}, {}, {}]> -> <@attention,
// SENT: spmd.all_reduce sum @attention {"cp", "tp"}
// SENT: return
func.func @f(%x: tensor<12x13x10xf32>, %w: tensor<8x10x6xf32>) -> (tensor<12x13x10xf32>, tensor<8x13x6xf32>, tensor<13x10xf32>) {
  %a = shoal.sharding_constraint %x <@attention, [{"dp"}, {"cp"}, {"tp"}]> : tensor<12x13x10xf32>
  %b = arith.mulf %a, %a : tensor<12x13x10xf32>
  %c = shoal.sharding_constraint %b <@experts, [{"edp", "ep"}, {}, {}]> : tensor<12x13x10xf32>
  %d = arith.addf %c, %c : tensor<12x13x10xf32>
  %e = shoal.slice %d starts = [0, 0, 0] limits = [8, 13, 10] strides = [1, 1, 1] : tensor<12x13x10xf32> -> tensor<8x13x10xf32>
  %ws = shoal.sharding_constraint %w <@turned, [{"ep"}, {}, {}]> : tensor<8x10x6xf32>
  %h = shoal.einsum "ETM,EMH->ETH" %e, %ws : (tensor<8x13x10xf32>, tensor<8x10x6xf32>) -> tensor<8x13x6xf32>
  // A region by hand over an axis of one mesh: its groups are those of the other.
  %s = shoal.manual_computation @experts {"ep"} (%d) in [#shoal.sharding<@experts, [{"ep"}, {}, {}]>]
      out [#shoal.sharding<@experts, [{}, {}]>] {
  ^body(%part: tensor<3x13x10xf32>):
    %sum = shoal.reduce sum %part dims = [0] : tensor<3x13x10xf32> -> tensor<13x10xf32>
    %all = spmd.all_reduce sum @experts {"ep"} %sum : tensor<13x10xf32>
    shoal.yield %all : tensor<13x10xf32>
  } : (tensor<12x13x10xf32>) -> tensor<13x10xf32>
  return %d, %h, %s : tensor<12x13x10xf32>, tensor<8x13x6xf32>, tensor<13x10xf32>
}

// RUN: shoal-run %s --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %s --shoal-partition | FileCheck %s --check-prefix=LOCAL

// Collectives over the manual axis "m" on values that are split unevenly over
// "a": each works on a part of what it does not touch.
// CHECK: result0: {{.*}}: ok
// CHECK: result1: {{.*}}: ok
// CHECK: result2: {{.*}}: ok
// CHECK: result3: {{.*}}: ok
// CHECK: result4: {{.*}}: ok
// CHECK: result5: {{.*}}: ok
// CHECK: result6: {{.*}}: ok

// LOCAL-DAG: spmd.all_gather @mesh [{"m"}, {}, {}] {{.*}} : tensor<4x8x3xf32> -> tensor<16x8x3xf32>
// LOCAL-DAG: spmd.reduce_scatter sum @mesh [{"m"}, {}, {}] {{.*}} -> tensor<4x8x3xf32>
// LOCAL-DAG: spmd.reduce_scatter max @mesh [{"m"}, {}] {{.*}} -> tensor<2x3xf32>
// LOCAL-DAG: spmd.all_to_all @mesh [{"m"} : 0 -> 1] {{.*}} -> tensor<16x2x3xf32>
// LOCAL-DAG: spmd.collective_permute {{.*}} : tensor<4x8x3xf32>
// LOCAL-DAG: spmd.halo_exchange {{.*}} -> tensor<6x8x3xf32>
// LOCAL-DAG: spmd.all_reduce max @mesh {"m"} {{.*}} : tensor<4x8x3xf32>

shoal.mesh @mesh = <["m" = 4, "a" = 2]>
func.func @main(%x: tensor<16x8x5xf32>) -> (tensor<16x8x5xf32>, tensor<8x5xf32>, tensor<64x2x5xf32>, tensor<16x8x5xf32>, tensor<24x8x5xf32>, tensor<4x8x5xf32>, tensor<16x8x5xf32>) {
  %y:7 = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {}, {"a"}]>]
      out [#shoal.sharding<@mesh, [{"m"}, {}, {?}]>, #shoal.sharding<@mesh, [{"m"}, {?}]>,
           #shoal.sharding<@mesh, [{"m"}, {}, {?}]>, #shoal.sharding<@mesh, [{"m"}, {}, {?}]>,
           #shoal.sharding<@mesh, [{"m"}, {}, {?}]>, #shoal.sharding<@mesh, [{}, {}, {?}]>,
           #shoal.sharding<@mesh, [{"m"}, {}, {"a"}]>] {
  ^bb0(%xl: tensor<4x8x5xf32>):
    %gathered = spmd.all_gather @mesh [{"m"}, {}, {}] %xl : tensor<4x8x5xf32> -> tensor<16x8x5xf32>
    %e = math.exp %gathered : tensor<16x8x5xf32>
    %scattered = spmd.reduce_scatter sum @mesh [{"m"}, {}, {}] %e : tensor<16x8x5xf32> -> tensor<4x8x5xf32>

    %sum = shoal.reduce sum %xl dims = [0] : tensor<4x8x5xf32> -> tensor<8x5xf32>
    %greatest = spmd.reduce_scatter max @mesh [{"m"}, {}] %sum : tensor<8x5xf32> -> tensor<2x5xf32>

    %exchanged = spmd.all_to_all @mesh [{"m"} : 0 -> 1] %xl : tensor<4x8x5xf32> -> tensor<16x2x5xf32>

    %permuted = spmd.collective_permute @mesh {"m":(1)2, "m":(2)2} -> @mesh {"m":(2)2, "m":(1)2} %xl : tensor<4x8x5xf32>

    // Two rows of the device before; the first has none, and puts zeros there.
    %halo = spmd.halo_exchange @mesh {"m"} %xl {dim = 0, size = 16, step = 4, offset = -2} : tensor<4x8x5xf32> -> tensor<6x8x5xf32>
    %i = spmd.axis_index @mesh {"m"} : tensor<i32>
    %first = arith.constant dense<0> : tensor<i32>
    %is_first = arith.cmpi eq, %i, %first : tensor<i32>
    %is_first_all = shoal.broadcast_in_dim %is_first dims = [] : tensor<i1> -> tensor<6x8x5xi1>
    %rows = shoal.iota dim = 0 : tensor<6x8x5xi32>
    %two = arith.constant dense<2> : tensor<6x8x5xi32>
    %is_before = arith.cmpi slt, %rows, %two : tensor<6x8x5xi32>
    %is_missing = arith.andi %is_before, %is_first_all : tensor<6x8x5xi1>
    %zeros = arith.constant dense<0.0> : tensor<6x8x5xf32>
    %filled = arith.select %is_missing, %zeros, %halo : tensor<6x8x5xi1>, tensor<6x8x5xf32>

    // A device's own rows of what all have.
    %all = spmd.all_reduce max @mesh {"m"} %xl : tensor<4x8x5xf32>
    %own = spmd.all_slice @mesh [{"m"}, {}, {}] %gathered : tensor<16x8x5xf32> -> tensor<4x8x5xf32>
    shoal.yield %scattered, %greatest, %exchanged, %permuted, %filled, %all, %own
      : tensor<4x8x5xf32>, tensor<2x5xf32>, tensor<16x2x5xf32>, tensor<4x8x5xf32>, tensor<6x8x5xf32>, tensor<4x8x5xf32>, tensor<4x8x5xf32>
  } : (tensor<16x8x5xf32>) -> (tensor<16x8x5xf32>, tensor<8x5xf32>, tensor<64x2x5xf32>, tensor<16x8x5xf32>, tensor<24x8x5xf32>, tensor<4x8x5xf32>, tensor<16x8x5xf32>)
  return %y#0, %y#1, %y#2, %y#3, %y#4, %y#5, %y#6 : tensor<16x8x5xf32>, tensor<8x5xf32>, tensor<64x2x5xf32>, tensor<16x8x5xf32>, tensor<24x8x5xf32>, tensor<4x8x5xf32>, tensor<16x8x5xf32>
}

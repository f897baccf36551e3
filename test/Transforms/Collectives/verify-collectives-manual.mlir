// RUN: shoal-opt %s --shoal-partition --split-input-file --verify-diagnostics

// Devices must meet in the collectives of a region that is written for one.

shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func @choice_by_index(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] out [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] {
  ^bb0(%l: tensor<4x4xf32>):
    // expected-note@+1 {{it differs because of this spmd.axis_index}}
    %i = spmd.axis_index @mesh {"m"} : tensor<i32>
    // expected-error@+1 {{may take another way on other devices along {"m"}, but holds a collective over {"m"}}}
    %r = shoal.case %i : (tensor<i32>) -> tensor<4x4xf32> {
      // expected-note@+1 {{spmd.all_reduce is here}}
      %s = spmd.all_reduce sum @mesh {"m"} %l : tensor<4x4xf32>
      shoal.yield %s : tensor<4x4xf32>
    }, {
      shoal.yield %l : tensor<4x4xf32>
    }
    shoal.yield %r : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// An index that all devices along "m" agree on is no reason to wait.
shoal.mesh @mesh = <["m" = 2, "a" = 2]>
func.func @choice_by_sum(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] out [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] {
  ^bb0(%l: tensor<4x4xf32>):
    %i = spmd.axis_index @mesh {"m"} : tensor<i32>
    %all = spmd.all_reduce sum @mesh {"m"} %i : tensor<i32>
    %r = shoal.case %all : (tensor<i32>) -> tensor<4x4xf32> {
      %s = spmd.all_reduce sum @mesh {"m"} %l : tensor<4x4xf32>
      shoal.yield %s : tensor<4x4xf32>
    }, {
      shoal.yield %l : tensor<4x4xf32>
    }
    shoal.yield %r : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// RUN: shoal-opt %s --shoal-differentiate="function=rows mode=vjp" --canonicalize | FileCheck %s --check-prefix=ROWS
// RUN: shoal-opt %s --shoal-differentiate="function=collectives mode=vjp" -o %t.mlir
// RUN: shoal-run %t.mlir --entry=collectives_vjp --compare --random-inputs=1 --tolerance=1e-5
// RUN: shoal-opt %s --shoal-differentiate="function=parts mode=vjp" --canonicalize | FileCheck %s --check-prefix=PARTS
// RUN: shoal-opt %s --shoal-differentiate="function=pairs mode=vjp" --canonicalize | FileCheck %s --check-prefix=PAIRS
// RUN: shoal-opt %s --shoal-differentiate="function=pairs mode=vjp" | shoal-run - --entry=pairs_vjp --compare --random-inputs=1 --tolerance=1e-5

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// A region has a region for its gradient. What is the same along "x" counts on each of 2 devices as a half, and its
// cotangent is the sum of theirs; what the backward ops read of the forward ones is a result more.
// ROWS-LABEL: func.func @rows_vjp
// ROWS: %[[FORWARD:.*]]:2 = shoal.manual_computation @mesh {"x"}
// ROWS-SAME: out [#shoal.sharding<@mesh, [{}]>, #shoal.sharding<@mesh, [{"x"{{(, )?\??}}}]>]
// ROWS: %[[TANH:.*]] = math.tanh
// ROWS: spmd.all_reduce sum @mesh {"x"}
// ROWS: shoal.yield %{{.*}}, %[[TANH]]
// ROWS: %[[HALF:.*]] = arith.divf %{{.*}}, %{{.*}} : tensor<8xf32>
// ROWS: shoal.manual_computation @mesh {"x"}
// ROWS: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<8xf32>
// ROWS: spmd.all_reduce sum @mesh {"x"} %{{.*}} : tensor<8xf32>
// ROWS: shoal.yield
func.func @rows(%a: tensor<8xf32>) -> tensor<8xf32> {
  %y = shoal.manual_computation @mesh {"x"} (%a) in [#shoal.sharding<@mesh, [{} ]>] out [#shoal.sharding<@mesh, [{} ]>] {
  ^body(%part: tensor<8xf32>):
    %t = math.tanh %part : tensor<8xf32>
    %all = spmd.all_reduce sum @mesh {"x"} %t : tensor<8xf32>
    shoal.yield %all : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// Each collective's transpose, of shards that are not all full; reduce_scatter of maxima is an all_reduce and a slice.
func.func @collectives(%a: tensor<7x4xf32>, %b: tensor<4xf32>) -> tensor<7x4xf32> {
  %y = shoal.manual_computation @mesh {"x"} (%a, %b) in [#shoal.sharding<@mesh, [{"x"}, {} ]>, #shoal.sharding<@mesh, [{} ]>]
      out [#shoal.sharding<@mesh, [{"x"}, {} ]>] {
  ^body(%part: tensor<4x4xf32>, %w: tensor<4xf32>):
    %whole = spmd.all_gather @mesh [{"x"}, {} ] %part : tensor<4x4xf32> -> tensor<7x4xf32>
    %square = arith.mulf %whole, %whole : tensor<7x4xf32>
    %mine = spmd.reduce_scatter sum @mesh [{"x"}, {} ] %square : tensor<7x4xf32> -> tensor<4x4xf32>
    %largest = spmd.reduce_scatter max @mesh [{"x"}] %w : tensor<4xf32> -> tensor<2xf32>
    %rows = shoal.broadcast_in_dim %largest dims = [1] : tensor<2xf32> -> tensor<8x2xf32>
    %moved = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %part : tensor<4x4xf32> -> tensor<8x2xf32>
    %product = arith.mulf %moved, %rows : tensor<8x2xf32>
    %back = spmd.all_to_all @mesh [{"x"} : 1 -> 0] %product : tensor<8x2xf32> -> tensor<4x4xf32>
    %next = spmd.collective_permute @mesh {"x"} -> @mesh {"x"} %back {shift = 1} : tensor<4x4xf32>
    %slice = spmd.all_slice @mesh [{"x"}, {} ] %whole : tensor<7x4xf32> -> tensor<4x4xf32>
    %s = arith.addf %mine, %next : tensor<4x4xf32>
    %r = arith.mulf %s, %part : tensor<4x4xf32>
    shoal.yield %r : tensor<4x4xf32>
  } : (tensor<7x4xf32>, tensor<4xf32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}

// Of pairs each goes back the other way: who sent nothing gets zeros.
// PAIRS-LABEL: func.func @pairs_vjp
// PAIRS: spmd.collective_permute {{.*}} {pairs = array<i64: 0, 3, 3, 1>} : tensor<2xf32>
// PAIRS: spmd.collective_permute {{.*}} {pairs = array<i64: 3, 0, 1, 3>} : tensor<2xf32>
func.func @pairs(%a: tensor<8xf32>) -> tensor<8xf32> {
  %y = shoal.manual_computation @mesh {"x", "y"} (%a) in [#shoal.sharding<@mesh, [{"x", "y"}]>]
      out [#shoal.sharding<@mesh, [{"x", "y"}]>] {
  ^body(%part: tensor<2xf32>):
    %t = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"x", "y"} %part {pairs = array<i64: 0, 3, 3, 1>} : tensor<2xf32>
    %r = arith.mulf %t, %part : tensor<2xf32>
    shoal.yield %r : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// What stands between the ends of a part is a region first.
// PARTS-LABEL: func.func @parts_vjp
// PARTS: shoal.manual_computation
// PARTS: shoal.manual_computation
// PARTS-NOT: shoal.auto_to_manual
func.func @parts(%x: tensor<8xf32>) -> tensor<8xf32> {
  %l = shoal.auto_to_manual %x <@mesh, [{"x", "y"} ]> : tensor<8xf32> -> tensor<2xf32>
  %t = math.tanh %l : tensor<2xf32>
  %y = shoal.manual_to_auto %t <@mesh, [{"x", "y"} ]> : tensor<2xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}

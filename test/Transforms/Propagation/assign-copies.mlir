// RUN: shoal-opt %s --split-input-file --shoal-assign | FileCheck %s

// A mask that rows and columns are multiplied by is made of f32 of i1: it is
// made twice, and what is moved is the i1, a quarter of its bytes.

shoal.mesh @mesh = <["x" = 8]>

// CHECK-LABEL: func.func @narrowest_ancestor
// CHECK-NEXT: %[[MOVED:.*]] = shoal.reshard %arg0
// CHECK-DAG: = arith.uitofp %arg0
// CHECK-DAG: = arith.uitofp %[[MOVED]]
// CHECK-NOT: = shoal.reshard
// CHECK: return
func.func @narrowest_ancestor(%pred: tensor<512x512xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                              %a: tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                              %b: tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  %mask = arith.uitofp %pred : tensor<512x512xi1> to tensor<512x512xf32>
  %0 = arith.mulf %a, %mask : tensor<512x512xf32>
  %1 = arith.mulf %b, %mask : tensor<512x512xf32>
  return %0, %1 : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// Layers that are alike share a copy, and where all agree one is left.

shoal.mesh @mesh = <["x" = 8]>

// CHECK-LABEL: func.func @merged
// CHECK-NEXT: = arith.uitofp
// CHECK-NOT: = arith.uitofp
// CHECK: return
func.func @merged(%pred: tensor<512x512xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                  %a: tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %mask = arith.uitofp %pred : tensor<512x512xi1> to tensor<512x512xf32>
  %0 = arith.mulf %a, %mask : tensor<512x512xf32>
  %1 = arith.addf %0, %mask : tensor<512x512xf32>
  %2 = arith.mulf %1, %mask : tensor<512x512xf32>
  return %2 : tensor<512x512xf32>
}

// -----

// Chains are copied whole, and share what is equal at their beginnings.

shoal.mesh @mesh = <["x" = 8]>

// CHECK-LABEL: func.func @chain
// CHECK-COUNT-2: = arith.uitofp
// CHECK-NOT: = shoal.reshard
// CHECK: return
func.func @chain(%a: tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                 %b: tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
        tensor<512x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>}) {
  %iota = shoal.iota dim = 0 : tensor<512xi32>
  %row = shoal.broadcast_in_dim %iota dims = [0] : tensor<512xi32> -> tensor<512x512xi32>
  %column = shoal.broadcast_in_dim %iota dims = [1] : tensor<512xi32> -> tensor<512x512xi32>
  %seen = arith.cmpi sge, %row, %column : tensor<512x512xi32>
  %mask = arith.uitofp %seen : tensor<512x512xi1> to tensor<512x512xf32>
  %0 = arith.mulf %a, %mask : tensor<512x512xf32>
  %1 = arith.mulf %b, %mask : tensor<512x512xf32>
  return %0, %1 : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// What is sent may be in the chain of another value that is sent: each has its
// own copies, of ops as they were, and only the i1 moves.

shoal.mesh @mesh = <["x" = 8]>

// CHECK-LABEL: func.func @chain_of_what_is_sent
// CHECK-COUNT-2: = shoal.reshard %arg0
// CHECK-NOT: = shoal.reshard
// CHECK: return
func.func @chain_of_what_is_sent(
    %pred: tensor<64x64x64xi1> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
    %a: tensor<64x64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
    %b: tensor<64x64x64xf64> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>},
    %c: tensor<64x64x64xf64> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<64x64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}, {}]>},
        tensor<64x64x64xf64> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}, {}]>},
        tensor<64x64x64xf64> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"x"}]>}) {
  %mask = arith.uitofp %pred : tensor<64x64x64xi1> to tensor<64x64x64xf32>
  %wide = arith.extf %mask : tensor<64x64x64xf32> to tensor<64x64x64xf64>
  %0 = arith.mulf %a, %mask : tensor<64x64x64xf32>
  %1 = arith.mulf %b, %wide : tensor<64x64x64xf64>
  %2 = arith.mulf %c, %wide : tensor<64x64x64xf64>
  return %0, %1, %2 : tensor<64x64x64xf32>, tensor<64x64x64xf64>, tensor<64x64x64xf64>
}

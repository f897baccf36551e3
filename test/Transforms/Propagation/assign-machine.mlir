// RUN: rm -rf %t && split-file %s %t
// RUN: shoalc %t/program.mlir --emit=summary | FileCheck %s --check-prefix=BYTES
// RUN: shoalc %t/program.mlir --emit=summary --machine=%t/two-nodes.toml | FileCheck %s --check-prefix=TIME
// RUN: shoalc %t/program.mlir --emit=summary --machine=%t/one-node.toml | FileCheck %s --check-prefix=NODE
// RUN: shoal-run %t/program.mlir --devices=8 --random-inputs=1 --compare | FileCheck %s --check-prefix=RIGHT
// RUN: shoalc %t/order.mlir --emit=summary --machine=%t/one-node.toml | FileCheck %s --check-prefix=ORDER
// RUN: not shoalc %t/program.mlir --emit=summary --machine=%t/no.toml 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not shoalc %t/large.mlir --emit=summary --machine=%t/two-nodes.toml 2>&1 | FileCheck %s --check-prefix=LARGE

// Where the network between nodes is a thousand times as slow as the links in
// them, it is used once, for all that has to come from there, although that
// sends more bytes.
// BYTES: collectives: 3, 16,384 bytes
// BYTES: collective_permute {"n", "d"} -> {"d", "n"}
// BYTES: all_gather {{ *}}{"n"} in groups of 2
// BYTES: all_reduce {{ *}}{"d"} in groups of 4

// TIME: collectives: 3, 18,944 bytes
// TIME: all_gather {{ *}}{"n", "d"} in groups of 8
// TIME: all_to_all {{ *}}{"d"} in groups of 4
// TIME: all_to_all {{ *}}{"d"} in groups of 4

// On one node it takes as long to start one more and send less.
// NODE: collectives: {{3, 16,384|4, 13,824}} bytes

// RIGHT: ok

// What goes to another order of the devices is sent, also where each device has
// the same part of it there.
// ORDER: collectives: 2, 49,344 bytes
// ORDER: exchange {{ *}}{"x"} -> {"x"} in groups of 4: 49,152 bytes

// NONE: program.mlir:{{.*}}: error: machine: cannot read {{.*}}no.toml
// LARGE: large.mlir:{{.*}}: error: machine: "two nodes" has 8 devices, but mesh "mesh" 16

//--- two-nodes.toml
name = "two nodes"
source = "a test"
[chip]
memory = 1.0e9
memory_bw = 1.0e12
flops = { f32 = 1.0e13 }
gemm = { max = 0.8, half = [0.0, 0.0, 0.0], tile = [1.0, 1.0, 1.0] }
elementwise = 1.0e12
[[level]]
name = "node"
size = 4
kind = "switch"
bw = 1.0e11
alpha = 1.0e-6
[[level]]
name = "network"
size = 2
kind = "switch"
bw = 1.0e8
alpha = 1.0e-5

//--- one-node.toml
name = "one node"
source = "a test"
[chip]
memory = 1.0e9
memory_bw = 1.0e12
flops = { f32 = 1.0e13 }
gemm = { max = 0.8, half = [0.0, 0.0, 0.0], tile = [1.0, 1.0, 1.0] }
elementwise = 1.0e12
[[level]]
name = "node"
size = 8
kind = "switch"
bw = 1.0e8
alpha = 0.0

//--- program.mlir
shoal.mesh @mesh = <["n" = 2, "d" = 4]>
func.func @main(%a: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"n", "d"}]>},
                %b: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{?}, {?}]>}) {
  %p = shoal.einsum "ik,kj->ij" %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %q = shoal.einsum "ik,kj->ij" %p, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %q : tensor<64x64xf32>
}

//--- large.mlir
shoal.mesh @mesh = <["n" = 4, "d" = 4]>
func.func @main(%a: tensor<64x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"n", "d"}]>}) -> tensor<64x64xf32> {
  return %a : tensor<64x64xf32>
}

//--- order.mlir
shoal.mesh @mesh = <["x" = 4]>
shoal.mesh @swapped = <["x" = 4], device_ids = [1, 0, 3, 2]>
func.func @main(%a: tensor<64x1024xf32> {shoal.sharding = #shoal.sharding<@swapped, [{"x"}, {}]>},
                %b: tensor<64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<64x1024xf32> {
  %p = shoal.einsum "ij,i->ij" %a, %b : (tensor<64x1024xf32>, tensor<64xf32>) -> tensor<64x1024xf32>
  return %p : tensor<64x1024xf32>
}

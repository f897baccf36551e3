// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/expert-2.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/expert-data.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/three-axes.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/expert-data-tensor.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/more-devices-than-rows.mlir --random-inputs=3 --compare | FileCheck %s

// The layer with 7 groups of 13 tokens, 5 experts, widths 9 and 11: no mesh
// divides any of them.
// CHECK: y: {{.*}}: ok
// CHECK: aux: {{.*}}: ok

//--- expert-2.mlir

shoal.mesh @mesh = <["x" = 2]>
func.func @main(%x: tensor<7x13x9xf32> {shoal.name = "x"}, %wg: tensor<9x5xf32> {shoal.name = "wg"}, %wi: tensor<5x9x11xf32> {shoal.name = "wi"}, %wo: tensor<5x11x9xf32> {shoal.name = "wo"}) -> (tensor<7x13x9xf32> {shoal.name = "y"}, tensor<f32> {shoal.name = "aux"}) {
  %xs = shoal.split %x {dim = 0, num_partitions = 2} : tensor<7x13x9xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<7x13x9xf32>, tensor<9x5xf32>) -> tensor<7x13x5xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<7x13x5xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<7x13x5xf32> -> tensor<7x13x5x3xf32>, tensor<7x13x5x3xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<7x13x5x3xf32>, tensor<7x13x9xf32>) -> tensor<5x7x3x9xf32>
  %d = shoal.split %d0 {dim = 0, num_partitions = 2} : tensor<5x7x3x9xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<5x7x3x9xf32>, tensor<5x9x11xf32>) -> tensor<5x7x3x11xf32>
  %h = shoal.relu %h0 : tensor<5x7x3x11xf32>
  %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<5x7x3x11xf32>, tensor<5x11x9xf32>) -> tensor<7x5x3x9xf32>
  %es = shoal.split %e {dim = 0, num_partitions = 2} : tensor<7x5x3x9xf32>
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<7x13x5x3xf32>, tensor<7x5x3x9xf32>) -> tensor<7x13x9xf32>
  return %y, %aux : tensor<7x13x9xf32>, tensor<f32>
}

//--- expert-data.mlir

shoal.mesh @mesh = <["a" = 2, "b" = 4]>
func.func @main(%x: tensor<7x13x9xf32> {shoal.name = "x"}, %wg: tensor<9x5xf32> {shoal.name = "wg"}, %wi: tensor<5x9x11xf32> {shoal.name = "wi"}, %wo: tensor<5x11x9xf32> {shoal.name = "wo"}) -> (tensor<7x13x9xf32> {shoal.name = "y"}, tensor<f32> {shoal.name = "aux"}) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"a","b"}, {}, {}]> : tensor<7x13x9xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<7x13x9xf32>, tensor<9x5xf32>) -> tensor<7x13x5xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<7x13x5xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<7x13x5xf32> -> tensor<7x13x5x3xf32>, tensor<7x13x5x3xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<7x13x5x3xf32>, tensor<7x13x9xf32>) -> tensor<5x7x3x9xf32>
  %d = shoal.sharding_constraint %d0 <@mesh, [{"b"}, {"a"}, {}, {}]> : tensor<5x7x3x9xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<5x7x3x9xf32>, tensor<5x9x11xf32>) -> tensor<5x7x3x11xf32>
  %h = shoal.relu %h0 : tensor<5x7x3x11xf32>
  %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<5x7x3x11xf32>, tensor<5x11x9xf32>) -> tensor<7x5x3x9xf32>
  %es = shoal.sharding_constraint %e <@mesh, [{"a","b"}, {}, {}, {}]> : tensor<7x5x3x9xf32>
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<7x13x5x3xf32>, tensor<7x5x3x9xf32>) -> tensor<7x13x9xf32>
  return %y, %aux : tensor<7x13x9xf32>, tensor<f32>
}

//--- three-axes.mlir

shoal.mesh @mesh = <["a" = 2, "b" = 2, "c" = 2]>
func.func @main(%x: tensor<7x13x9xf32> {shoal.name = "x"}, %wg: tensor<9x5xf32> {shoal.name = "wg"}, %wi: tensor<5x9x11xf32> {shoal.name = "wi"}, %wo: tensor<5x11x9xf32> {shoal.name = "wo"}) -> (tensor<7x13x9xf32> {shoal.name = "y"}, tensor<f32> {shoal.name = "aux"}) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"a","b","c"}, {}, {}]> : tensor<7x13x9xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<7x13x9xf32>, tensor<9x5xf32>) -> tensor<7x13x5xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<7x13x5xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<7x13x5xf32> -> tensor<7x13x5x3xf32>, tensor<7x13x5x3xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<7x13x5x3xf32>, tensor<7x13x9xf32>) -> tensor<5x7x3x9xf32>
  %d = shoal.sharding_constraint %d0 <@mesh, [{"a","b","c"}, {}, {}, {}]> : tensor<5x7x3x9xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<5x7x3x9xf32>, tensor<5x9x11xf32>) -> tensor<5x7x3x11xf32>
  %h = shoal.relu %h0 : tensor<5x7x3x11xf32>
  %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<5x7x3x11xf32>, tensor<5x11x9xf32>) -> tensor<7x5x3x9xf32>
  %es = shoal.sharding_constraint %e <@mesh, [{"a","b","c"}, {}, {}, {}]> : tensor<7x5x3x9xf32>
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<7x13x5x3xf32>, tensor<7x5x3x9xf32>) -> tensor<7x13x9xf32>
  return %y, %aux : tensor<7x13x9xf32>, tensor<f32>
}

//--- expert-data-tensor.mlir

shoal.mesh @mesh = <["a" = 2, "b" = 2, "c" = 2]>
func.func @main(%x: tensor<7x13x9xf32> {shoal.name = "x"}, %wg: tensor<9x5xf32> {shoal.name = "wg"}, %wi: tensor<5x9x11xf32> {shoal.name = "wi"}, %wo: tensor<5x11x9xf32> {shoal.name = "wo"}) -> (tensor<7x13x9xf32> {shoal.name = "y"}, tensor<f32> {shoal.name = "aux"}) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"a"}, {}, {"c"}]> : tensor<7x13x9xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<7x13x9xf32>, tensor<9x5xf32>) -> tensor<7x13x5xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<7x13x5xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<7x13x5xf32> -> tensor<7x13x5x3xf32>, tensor<7x13x5x3xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<7x13x5x3xf32>, tensor<7x13x9xf32>) -> tensor<5x7x3x9xf32>
  %d = shoal.sharding_constraint %d0 <@mesh, [{"b"}, {"a"}, {}, {"c"}]> : tensor<5x7x3x9xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<5x7x3x9xf32>, tensor<5x9x11xf32>) -> tensor<5x7x3x11xf32>
  %h = shoal.relu %h0 : tensor<5x7x3x11xf32>
  %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<5x7x3x11xf32>, tensor<5x11x9xf32>) -> tensor<7x5x3x9xf32>
  %es = shoal.sharding_constraint %e <@mesh, [{"a"}, {}, {}, {"b"}]> : tensor<7x5x3x9xf32>
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<7x13x5x3xf32>, tensor<7x5x3x9xf32>) -> tensor<7x13x9xf32>
  return %y, %aux : tensor<7x13x9xf32>, tensor<f32>
}

//--- more-devices-than-rows.mlir

shoal.mesh @mesh = <["x" = 8]>
func.func @main(%x: tensor<3x5x2xf32> {shoal.name = "x"}, %wg: tensor<2x2xf32> {shoal.name = "wg"}, %wi: tensor<2x2x3xf32> {shoal.name = "wi"}, %wo: tensor<2x3x2xf32> {shoal.name = "wo"}) -> (tensor<3x5x2xf32> {shoal.name = "y"}, tensor<f32> {shoal.name = "aux"}) {
  %xs = shoal.split %x {dim = 0, num_partitions = 8} : tensor<3x5x2xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<3x5x2xf32>, tensor<2x2xf32>) -> tensor<3x5x2xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<3x5x2xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 2} : tensor<3x5x2xf32> -> tensor<3x5x2x2xf32>, tensor<3x5x2x2xf32>, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<3x5x2x2xf32>, tensor<3x5x2xf32>) -> tensor<2x3x2x2xf32>
  %d = shoal.split %d0 {dim = 0, num_partitions = 8} : tensor<2x3x2x2xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<2x3x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x3x2x3xf32>
  %h = shoal.relu %h0 : tensor<2x3x2x3xf32>
  %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<2x3x2x3xf32>, tensor<2x3x2xf32>) -> tensor<3x2x2x2xf32>
  %es = shoal.split %e {dim = 0, num_partitions = 8} : tensor<3x2x2x2xf32>
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<3x5x2x2xf32>, tensor<3x2x2x2xf32>) -> tensor<3x5x2xf32>
  return %y, %aux : tensor<3x5x2xf32>, tensor<f32>
}

// RUN: split-file %s %t
// RUN: shoal-opt %t/one-axis.mlir --shoal-resolve-annotations --shoal-decompose-composites --canonicalize --cse --shoal-assign="flops-per-byte=1000 repeat-margin=1" --shoal-verify-assignment --shoal-explain -o /dev/null 2>&1 | grep "reshard\|^@" | FileCheck %s
// RUN: shoal-opt %t/three-axes.mlir --shoal-resolve-annotations --shoal-decompose-composites --canonicalize --cse --shoal-assign="flops-per-byte=1000 repeat-margin=1" --shoal-verify-assignment --shoal-explain -o /dev/null 2>&1 | grep "reshard\|^@" | FileCheck %s --check-prefix=TP

// GShard's layer. However little of it is annotated, two all_to_alls of the
// [E, G, C, M] buffer move, 7/8 of its 1 MiB a device each, and one scalar.

//--- one-axis.mlir
shoal.mesh @mesh = <["expert" = 8]>

// CHECK: @fully_annotated
// CHECK-NEXT: reshard {{.*}} : tensor<8x8x128x256xf32> <@mesh, [{}, {"expert"}, {}, {}]> -> <@mesh, [{"expert"}, {}, {}, {}]>  917504 bytes
// CHECK-NEXT: reshard {{.*}} : tensor<8x8x128x256xf32> <@mesh, [{}, {"expert"}, {}, {}]> -> <@mesh, [{"expert"}, {}, {}, {}]>  917504 bytes
// CHECK-NEXT: reshard {{.*}} : tensor<f32> <@mesh, [], partial = {"expert"}> -> <@mesh, []>  7 bytes, for result 1
// CHECK-NEXT: reshards send 1835015 bytes per device
func.func @fully_annotated(%x: tensor<8x512x256xf32> {shoal.name = "x"}, %wg: tensor<256x8xf32>,
                     %wi: tensor<8x256x1024xf32>, %wo: tensor<8x1024x256xf32>)
    -> (tensor<8x512x256xf32>, tensor<f32>) {
  %xs    = shoal.split %x {dim = 0, num_partitions = 8} : tensor<8x512x256xf32>
  %wgr   = shoal.replicate %wg : tensor<256x8xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wgr : (tensor<8x512x256xf32>, tensor<256x8xf32>) -> tensor<8x512x8xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<8x512x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 128} : tensor<8x512x8xf32> -> tensor<8x512x8x128xf32>, tensor<8x512x8x128xf32>, tensor<f32>
  %d0    = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<8x512x8x128xf32>, tensor<8x512x256xf32>) -> tensor<8x8x128x256xf32>
  %d     = shoal.split %d0 {dim = 0, num_partitions = 8} : tensor<8x8x128x256xf32>
  %h0    = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<8x8x128x256xf32>, tensor<8x256x1024xf32>) -> tensor<8x8x128x1024xf32>
  %h     = shoal.relu %h0 : tensor<8x8x128x1024xf32>
  %e     = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x8x128x1024xf32>, tensor<8x1024x256xf32>) -> tensor<8x8x128x256xf32>
  %es    = shoal.split %e {dim = 0, num_partitions = 8} : tensor<8x8x128x256xf32>
  %y     = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<8x512x8x128xf32>, tensor<8x8x128x256xf32>) -> tensor<8x512x256xf32>
  return %y, %aux : tensor<8x512x256xf32>, tensor<f32>
}

// CHECK: @partly_annotated
// CHECK-NEXT: reshard {{.*}} : tensor<8x8x128x256xf32> <@mesh, [{}, {"expert"}, {}, {}]> -> <@mesh, [{"expert"}, {}, {}, {}]>  917504 bytes
// CHECK-NEXT: reshard {{.*}} : tensor<8x8x128x256xf32> <@mesh, [{}, {"expert"}, {}, {}]> -> <@mesh, [{"expert"}, {}, {}, {}]>  917504 bytes
// CHECK-NEXT: reshard {{.*}} : tensor<f32> <@mesh, [], partial = {"expert"}> -> <@mesh, []>  7 bytes, for result 1
// CHECK-NEXT: reshards send 1835015 bytes per device
func.func @partly_annotated(%x: tensor<8x512x256xf32> {shoal.name = "x"}, %wg: tensor<256x8xf32>,
                     %wi: tensor<8x256x1024xf32>, %wo: tensor<8x1024x256xf32>)
    -> (tensor<8x512x256xf32>, tensor<f32>) {
  %xs    = shoal.split %x {dim = 0, num_partitions = 8} : tensor<8x512x256xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %xs, %wg : (tensor<8x512x256xf32>, tensor<256x8xf32>) -> tensor<8x512x8xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<8x512x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 128} : tensor<8x512x8xf32> -> tensor<8x512x8x128xf32>, tensor<8x512x8x128xf32>, tensor<f32>
  %d0    = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs : (tensor<8x512x8x128xf32>, tensor<8x512x256xf32>) -> tensor<8x8x128x256xf32>
  %d     = shoal.split %d0 {dim = 0, num_partitions = 8} : tensor<8x8x128x256xf32>
  %h0    = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<8x8x128x256xf32>, tensor<8x256x1024xf32>) -> tensor<8x8x128x1024xf32>
  %h     = shoal.relu %h0 : tensor<8x8x128x1024xf32>
  %e     = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x8x128x1024xf32>, tensor<8x1024x256xf32>) -> tensor<8x8x128x256xf32>
  %y     = shoal.einsum "GSEC,GECM->GSM" %combine, %e : (tensor<8x512x8x128xf32>, tensor<8x8x128x256xf32>) -> tensor<8x512x256xf32>
  return %y, %aux : tensor<8x512x256xf32>, tensor<f32>
}

// CHECK: @inputs_and_weights_only
// CHECK-NEXT: reshard {{.*}} : tensor<8x8x128x256xf32> <@mesh, [{}, {"expert"}, {}, {}]> -> <@mesh, [{"expert"}, {}, {}, {}]>  917504 bytes
// CHECK-NEXT: reshard {{.*}} : tensor<8x8x128x256xf32> <@mesh, [{}, {"expert"}, {}, {}]> -> <@mesh, [{"expert"}, {}, {}, {}]>  917504 bytes
// CHECK-NEXT: reshard {{.*}} : tensor<f32> <@mesh, [], partial = {"expert"}> -> <@mesh, []>  7 bytes, for result 1
// CHECK-NEXT: reshards send 1835015 bytes per device
func.func @inputs_and_weights_only(%x: tensor<8x512x256xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {} ]>}, %wg: tensor<256x8xf32>,
                     %wi: tensor<8x256x1024xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {} ]>}, %wo: tensor<8x1024x256xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {} ]>})
    -> (tensor<8x512x256xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"expert"}, {}, {} ]>}, tensor<f32>) {
  %logit = shoal.einsum "GSM,ME->GSE" %x, %wg : (tensor<8x512x256xf32>, tensor<256x8xf32>) -> tensor<8x512x8xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<8x512x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 128} : tensor<8x512x8xf32> -> tensor<8x512x8x128xf32>, tensor<8x512x8x128xf32>, tensor<f32>
  %d0    = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %x : (tensor<8x512x8x128xf32>, tensor<8x512x256xf32>) -> tensor<8x8x128x256xf32>
  %h0    = shoal.einsum "EGCM,EMH->EGCH" %d0, %wi : (tensor<8x8x128x256xf32>, tensor<8x256x1024xf32>) -> tensor<8x8x128x1024xf32>
  %h     = shoal.relu %h0 : tensor<8x8x128x1024xf32>
  %e     = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x8x128x1024xf32>, tensor<8x1024x256xf32>) -> tensor<8x8x128x256xf32>
  %y     = shoal.einsum "GSEC,GECM->GSM" %combine, %e : (tensor<8x512x8x128xf32>, tensor<8x8x128x256xf32>) -> tensor<8x512x256xf32>
  return %y, %aux : tensor<8x512x256xf32>, tensor<f32>
}

//--- three-axes.mlir
shoal.mesh @mesh = <["dp" = 2, "ep" = 2, "tp" = 2]>

// GShard's plan would send two all_to_alls (1 MiB each) and an all_reduce over
// tp (2 MiB). No all_reduce of the expert output is left: its sums are
// scattered, or reduced behind the combine. The gates are made by the devices
// of tp together, 4 KiB, as the combine costs little by its rows.
// TP: @expert_data_tensor_parallel
// TP-NOT: partial = {"tp"}> -> <@mesh, [{"dp"}, {"ep"}, {}, {}]>
// TP: reshards send 3149831 bytes per device
func.func @expert_data_tensor_parallel(%x: tensor<8x512x256xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"dp", "ep"}, {}, {} ]>}, %wg: tensor<256x8xf32>,
                     %wi: tensor<8x256x1024xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {}, {"tp"} ]>}, %wo: tensor<8x1024x256xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {"tp"}, {} ]>})
    -> (tensor<8x512x256xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"dp", "ep"}, {}, {} ]>}, tensor<f32>) {
  %logit = shoal.einsum "GSM,ME->GSE" %x, %wg : (tensor<8x512x256xf32>, tensor<256x8xf32>) -> tensor<8x512x8xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<8x512x8xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 128} : tensor<8x512x8xf32> -> tensor<8x512x8x128xf32>, tensor<8x512x8x128xf32>, tensor<f32>
  %d0    = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %x : (tensor<8x512x8x128xf32>, tensor<8x512x256xf32>) -> tensor<8x8x128x256xf32>
  %h0    = shoal.einsum "EGCM,EMH->EGCH" %d0, %wi : (tensor<8x8x128x256xf32>, tensor<8x256x1024xf32>) -> tensor<8x8x128x1024xf32>
  %h     = shoal.relu %h0 : tensor<8x8x128x1024xf32>
  %e     = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<8x8x128x1024xf32>, tensor<8x1024x256xf32>) -> tensor<8x8x128x256xf32>
  %y     = shoal.einsum "GSEC,GECM->GSM" %combine, %e : (tensor<8x512x8x128xf32>, tensor<8x8x128x256xf32>) -> tensor<8x512x256xf32>
  return %y, %aux : tensor<8x512x256xf32>, tensor<f32>
}

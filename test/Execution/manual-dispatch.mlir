// RUN: shoal-run %s --random-inputs=3 --compare --print | FileCheck %s
// RUN: shoal-opt %s --shoal-partition | FileCheck %s --check-prefix=LOCAL

// GShard's layer with dispatch by Gather, which is written by hand for one
// device (section 3.2 of the paper), beside the layer with dispatch by einsum:
// the same rows are dispatched, so the layers agree to the last bit.
// CHECK: difference: tensor<f32> = 0{{$}}
// CHECK: y: {{.*}}: ok
// CHECK: difference: {{.*}} largest difference 0 absolute

// Between the manual part and the experts' product the groups are exchanged
// for experts, as in the layer of einsums; the gather itself sends nothing.
// LOCAL: shoal.gather {{.*}} -> tensor<4x2x3x5xf32>
// LOCAL: spmd.all_to_all @mesh [{"d"} : 1 -> 0] {{.*}} -> tensor<1x8x3x5xf32>

shoal.mesh @mesh = <["d" = 4]>
func.func @main(%x: tensor<8x6x5xf32> {shoal.name = "x"}, %wg: tensor<5x4xf32>, %wi: tensor<4x5x7xf32>, %wo: tensor<4x7x5xf32>)
    -> (tensor<8x6x5xf32> {shoal.name = "y"}, tensor<f32> {shoal.name = "difference"}) {
  %input = shoal.split %x {dim = 0, num_partitions = 4} : tensor<8x6x5xf32>
  %logit = shoal.einsum "GSM,ME->GSE" %input, %wg : (tensor<8x6x5xf32>, tensor<5x4xf32>) -> tensor<8x6x4xf32>
  %gates = shoal.softmax %logit {axis = 2} : tensor<8x6x4xf32>
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 3} : tensor<8x6x4xf32> -> tensor<8x6x4x3xf32>, tensor<8x6x4x3xf32>, tensor<f32>

  // The token in each slot of each expert, and whether there is one.
  %tokens = shoal.iota dim = 0 : tensor<6xf32>
  %token = shoal.einsum "GSEC,S->EGC" %dispatch, %tokens : (tensor<8x6x4x3xf32>, tensor<6xf32>) -> tensor<4x8x3xf32>
  %filled = shoal.einsum "GSEC->EGC" %dispatch : (tensor<8x6x4x3xf32>) -> tensor<4x8x3xf32>
  %index = arith.fptosi %token : tensor<4x8x3xf32> to tensor<4x8x3xi32>
  %s_indices0 = shoal.reshape %index : tensor<4x8x3xi32> -> tensor<4x8x3x1xi32>
  %s_indices = shoal.split %s_indices0 {dim = 1, num_partitions = 4} : tensor<4x8x3x1xi32>

  // Begin of the manual part: a device has its own groups.
  %own_input = shoal.auto_to_manual %input <@mesh, [{"d"}, {}, {}]> : tensor<8x6x5xf32> -> tensor<2x6x5xf32>
  %own_s_indices = shoal.auto_to_manual %s_indices <@mesh, [{}, {"d"}, {}, {}]> : tensor<4x8x3x1xi32> -> tensor<4x2x3x1xi32>
  %own_groups = shoal.iota dim = 1 : tensor<4x2x3x1xi32>
  %own_gs_indices = shoal.concatenate %own_groups, %own_s_indices dim = 3 : (tensor<4x2x3x1xi32>, tensor<4x2x3x1xi32>) -> tensor<4x2x3x2xi32>
  %own_data = shoal.gather %own_input, %own_gs_indices offset_dims = [3] collapsed_slice_dims = [0, 1]
         start_index_map = [0, 1] index_vector_dim = 3 slice_sizes = [1, 1, 5]
       : (tensor<2x6x5xf32>, tensor<4x2x3x2xi32>) -> tensor<4x2x3x5xf32>
  %data = shoal.manual_to_auto %own_data <@mesh, [{}, {"d"}, {}, {}]> : tensor<4x2x3x5xf32> -> tensor<4x8x3x5xf32>

  %mask = shoal.broadcast_in_dim %filled dims = [0, 1, 2] : tensor<4x8x3xf32> -> tensor<4x8x3x5xf32>
  %gathered = arith.mulf %data, %mask : tensor<4x8x3x5xf32>
  %y = call @experts(%gathered, %combine, %wi, %wo) : (tensor<4x8x3x5xf32>, tensor<8x6x4x3xf32>, tensor<4x5x7xf32>, tensor<4x7x5xf32>) -> tensor<8x6x5xf32>

  %dispatched = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %input : (tensor<8x6x4x3xf32>, tensor<8x6x5xf32>) -> tensor<4x8x3x5xf32>
  %expected = call @experts(%dispatched, %combine, %wi, %wo) : (tensor<4x8x3x5xf32>, tensor<8x6x4x3xf32>, tensor<4x5x7xf32>, tensor<4x7x5xf32>) -> tensor<8x6x5xf32>
  %error = arith.subf %y, %expected : tensor<8x6x5xf32>
  %size = math.absf %error : tensor<8x6x5xf32>
  %difference = shoal.reduce max %size dims = [0, 1, 2] : tensor<8x6x5xf32> -> tensor<f32>
  return %y, %difference : tensor<8x6x5xf32>, tensor<f32>
}

func.func private @experts(%data: tensor<4x8x3x5xf32>, %combine: tensor<8x6x4x3xf32>, %wi: tensor<4x5x7xf32>, %wo: tensor<4x7x5xf32>) -> tensor<8x6x5xf32> {
  %d = shoal.split %data {dim = 0, num_partitions = 4} : tensor<4x8x3x5xf32>
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi : (tensor<4x8x3x5xf32>, tensor<4x5x7xf32>) -> tensor<4x8x3x7xf32>
  %h = shoal.relu %h0 : tensor<4x8x3x7xf32>
  %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo : (tensor<4x8x3x7xf32>, tensor<4x7x5xf32>) -> tensor<8x4x3x5xf32>
  %es = shoal.split %e {dim = 0, num_partitions = 4} : tensor<8x4x3x5xf32>
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es : (tensor<8x6x4x3xf32>, tensor<8x4x3x5xf32>) -> tensor<8x6x5xf32>
  return %y : tensor<8x6x5xf32>
}

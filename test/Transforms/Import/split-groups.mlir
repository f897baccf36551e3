// RUN: shoal-opt %s --shoal-split-groups | FileCheck %s
// RUN: shoal-opt %s --shoal-split-groups -o %t.mlir
// RUN: shoal-run %s --entry=two_layers --random-inputs=1 --output-dir %t.whole > /dev/null
// RUN: shoal-run %t.mlir --entry=two_layers --random-inputs=1 --output-dir %t.parts > /dev/null
// RUN: cmp %t.whole/result0.npy %t.parts/result0.npy
// RUN: cmp %t.whole/result1.npy %t.parts/result1.npy
// RUN: shoal-run %s --entry=two_layers --random-inputs=1 --compare

shoal.mesh @mesh = <["ep" = 2]>

// The sigmoid of a row that is zero is not; the rows of other parts are read by none.
// CHECK-LABEL: @two_layers
// CHECK: %[[H:.*]] = shoal.ragged_einsum "TM,AEMH,AE->ATH" rows "T" {{.*}} -> tensor<2x8x5xf32>
// CHECK: %[[N:.*]] = arith.negf %[[H]] : tensor<2x8x5xf32>
// CHECK: %[[X:.*]] = math.exp %[[N]] : tensor<2x8x5xf32>
// CHECK: arith.addf %[[X]], %{{.*}} : tensor<2x8x5xf32>
// CHECK: %[[A:.*]] = arith.divf %[[H]], %{{.*}} : tensor<2x8x5xf32>
// CHECK: %[[P:.*]] = shoal.ragged_einsum "ATH,AEHM,AE->ATM" rows "T" %[[A]]
// CHECK: shoal.reduce sum %[[P]] dims = [0] : tensor<2x8x4xf32> -> tensor<8x4xf32>
// The gradient of a matrix has the groups in its result.
// CHECK: %[[G:.*]] = shoal.ragged_einsum "ATH,TM,AE->AEHM" rows "T" %[[A]]
// CHECK: shoal.reshape %[[G]] : tensor<2x3x5x4xf32> -> tensor<6x5x4xf32>
func.func @two_layers(%x: tensor<8x4xf32>, %wi0: tensor<6x4x5xf32>, %wo: tensor<6x5x4xf32>) -> (tensor<8x4xf32>, tensor<6x5x4xf32>) {
  %begins = arith.constant dense<[0, 2, 2, 3, 5, 5]> : tensor<6xi32>
  %ends = arith.constant dense<[2, 2, 3, 5, 5, 7]> : tensor<6xi32>
  %wi = shoal.sharding_constraint %wi0 <@mesh, [{"ep"}, {}, {}]> : tensor<6x4x5xf32>
  %h = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %wi groups %begins, %ends
      : (tensor<8x4xf32>, tensor<6x4x5xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x5xf32>
  %one = arith.constant dense<1.0> : tensor<8x5xf32>
  %n = arith.negf %h : tensor<8x5xf32>
  %exp = math.exp %n : tensor<8x5xf32>
  %more = arith.addf %exp, %one : tensor<8x5xf32>
  %a = arith.divf %h, %more : tensor<8x5xf32>
  %y = shoal.ragged_einsum "TH,EHM,E->TM" rows "T" %a, %wo groups %begins, %ends
      : (tensor<8x5xf32>, tensor<6x5x4xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x4xf32>
  %g = shoal.ragged_einsum "TH,TM,E->EHM" rows "T" %a, %x groups %begins, %ends
      : (tensor<8x5xf32>, tensor<8x4xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x5x4xf32>
  return %y, %g : tensor<8x4xf32>, tensor<6x5x4xf32>
}

// What else reads a row gets it together, once.
// CHECK-LABEL: @read_outside
// CHECK: %[[H:.*]] = shoal.ragged_einsum "TM,AEMH,AE->ATH"
// CHECK: %[[TOGETHER:.*]] = shoal.reduce sum %[[H]] dims = [0]
// CHECK: math.exp %[[H]] : tensor<2x8x5xf32>
// CHECK: return %{{.*}}, %[[TOGETHER]]
func.func @read_outside(%x: tensor<8x4xf32>, %wi: tensor<6x4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {}, {}]>},
                        %wo: tensor<6x5x4xf32>, %b: tensor<6xi32>, %e: tensor<6xi32>) -> (tensor<8x4xf32>, tensor<8x5xf32>) {
  %h = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %wi groups %b, %e
      : (tensor<8x4xf32>, tensor<6x4x5xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x5xf32>
  %a = math.exp %h : tensor<8x5xf32>
  %y = shoal.ragged_einsum "TH,EHM,E->TM" rows "T" %a, %wo groups %b, %e
      : (tensor<8x5xf32>, tensor<6x5x4xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x4xf32>
  return %y, %h : tensor<8x4xf32>, tensor<8x5xf32>
}

// Other groups, rows that meet each other, and groups that 2 does not divide: nothing is known.
// CHECK-LABEL: @nothing_to_do
// CHECK-NOT: "ATH
// CHECK: return
func.func @nothing_to_do(%x: tensor<8x4xf32>, %wi: tensor<6x4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {}, {}]>},
                         %wo: tensor<6x5x4xf32>, %v: tensor<3x4x5xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {}, {}]>},
                         %u: tensor<3x5x4xf32>, %b: tensor<6xi32>, %e: tensor<6xi32>, %f: tensor<6xi32>, %c: tensor<3xi32>, %d: tensor<3xi32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %h = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %wi groups %b, %e
      : (tensor<8x4xf32>, tensor<6x4x5xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x5xf32>
  %other = shoal.ragged_einsum "TH,EHM,E->TM" rows "T" %h, %wo groups %b, %f
      : (tensor<8x5xf32>, tensor<6x5x4xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x4xf32>
  %r = shoal.reverse %h dims = [0] : tensor<8x5xf32>
  %meet = shoal.ragged_einsum "TH,EHM,E->TM" rows "T" %r, %wo groups %b, %e
      : (tensor<8x5xf32>, tensor<6x5x4xf32>, tensor<6xi32>, tensor<6xi32>) -> tensor<8x4xf32>
  %i = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %v groups %c, %d
      : (tensor<8x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<8x5xf32>
  %odd = shoal.ragged_einsum "TH,EHM,E->TM" rows "T" %i, %u groups %c, %d
      : (tensor<8x5xf32>, tensor<3x5x4xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<8x4xf32>
  return %other, %meet, %odd : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

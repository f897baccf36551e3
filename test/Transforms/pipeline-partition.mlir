// The program of docs/internals/Partitioning.md, from stage to stage.
//
// RUN: shoal-opt %s --shoal-import --shoal-assign | FileCheck %s --check-prefix=ASSIGN
// RUN: shoal-opt %s --shoal-import --shoal-assign --shoal-plan-reshards | FileCheck %s --check-prefix=PLAN
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-opt %s --shoal-partition --shoal-partition | FileCheck %s
// RUN: shoal-opt %s --shoal-import --shoal-assign --shoal-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// ASSIGN: %[[Y:.*]] = shoal.einsum "BH,HM->BM" {{.*}} shoal.shardings = [#shoal.sharding<@mesh, [{"data"}, {}], partial = {"model"}>]
// ASSIGN: shoal.reshard %[[Y]] <@mesh, [{"data"}, {}], partial = {"model"}> -> <@mesh, [{"data"}, {}]>

// PLAN: shoal.reshard {{.*}} by all_reduce

// CHECK: func.func @mlp(%arg0: tensor<3x64xf32>
// CHECK-SAME: %arg1: tensor<64x64xf32>
// CHECK-SAME: %arg2: tensor<64x64xf32>
// CHECK: %[[H0:.*]] = shoal.einsum "BM,MH->BH" %arg0, %arg1
// CHECK: %[[H:.*]] = arith.maximumf %[[H0]]
// CHECK: %[[PART:.*]] = shoal.einsum "BH,HM->BM" %[[H]], %arg2
// CHECK: %[[SUM:.*]] = spmd.all_reduce sum @mesh {"model"} %[[PART]]
// CHECK: return %[[SUM]] : tensor<3x64xf32>

// EXPLAIN: argument 2 : tensor<256x64xf32> <@mesh, [{"model"}, {}]>  [model: from shoal.sharding_constraint at {{.*}} via shoal.einsum "BM,MH->BH", arith.maximumf, shoal.einsum "BH,HM->BM"
// EXPLAIN: reshard {{.*}} 1152 bytes, for operand 0 of shoal.sharding_constraint

shoal.mesh @mesh = <["data" = 2, "model" = 4]>

func.func @mlp(%x: tensor<6x64xf32> {shoal.name = "x"}, %w1: tensor<64x256xf32>,
               %w2: tensor<256x64xf32>) -> tensor<6x64xf32> {
  %xs = shoal.sharding_constraint %x <@mesh, [{"data"}, {}]> : tensor<6x64xf32>
  %w = shoal.sharding_constraint %w1 <@mesh, [{}, {"model"}]> : tensor<64x256xf32>
  %h0 = shoal.einsum "BM,MH->BH" %xs, %w : (tensor<6x64xf32>, tensor<64x256xf32>) -> tensor<6x256xf32>
  %h = shoal.relu %h0 : tensor<6x256xf32>
  %y = shoal.einsum "BH,HM->BM" %h, %w2 : (tensor<6x256xf32>, tensor<256x64xf32>) -> tensor<6x64xf32>
  %ys = shoal.sharding_constraint %y <@mesh, [{"data"}, {}]> : tensor<6x64xf32>
  return %ys : tensor<6x64xf32>
}

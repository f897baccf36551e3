// RUN: shoal-opt %s --shoal-assign --shoal-verify-assignment | FileCheck %s
// RUN: shoal-opt %s --shoal-assign --shoal-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A result lies as the donated argument does in whose memory it is made: what
// a loop hands on stays where it is.

shoal.mesh @mesh = <["x" = 4]>

// Free, the gradient's sum would leave the new weights split.
// CHECK-LABEL: func @not_donated(
// CHECK-SAME: %arg0: tensor<8x4xf32> {{.*}}[{}, {}]
// CHECK-SAME: -> (tensor<8x4xf32> {{.*}}[{{.*}}"x"
func.func @not_donated(%w: tensor<8x4xf32>, %x: tensor<64x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x4xf32> {
  %y = shoal.einsum "bi,io->bo" %x, %w : (tensor<64x8xf32>, tensor<8x4xf32>) -> tensor<64x4xf32>
  %g = shoal.einsum "bi,bo->io" %x, %y : (tensor<64x8xf32>, tensor<64x4xf32>) -> tensor<8x4xf32>
  %n = arith.subf %w, %g : tensor<8x4xf32>
  return %n : tensor<8x4xf32>
}

// CHECK-LABEL: func @donated(
// CHECK-SAME: %arg0: tensor<8x4xf32> {shoal.donated, shoal.sharding = [[SHARDING:#shoal.sharding<[^>]*>]]}
// CHECK-SAME: -> (tensor<8x4xf32> {shoal.sharding = [[SHARDING]]})
func.func @donated(%w: tensor<8x4xf32> {shoal.donated}, %x: tensor<64x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x4xf32> {
  %y = shoal.einsum "bi,io->bo" %x, %w : (tensor<64x8xf32>, tensor<8x4xf32>) -> tensor<64x4xf32>
  %g = shoal.einsum "bi,bo->io" %x, %y : (tensor<64x8xf32>, tensor<64x4xf32>) -> tensor<8x4xf32>
  %n = arith.subf %w, %g : tensor<8x4xf32>
  return %n : tensor<8x4xf32>
}

// The annotation of either holds for both; what is made elsewhere moves.
// CHECK-LABEL: func @annotated_result(
// CHECK-SAME: %arg0: tensor<8xf32> {shoal.donated, shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}
// CHECK-LABEL: func @annotated_argument(
// CHECK: shoal.reshard {{.*}} <@mesh, [{}]> -> <@mesh, [{"x"}]>
// CHECK-SAME: why = "result 0 of @annotated_argument"
// WHY: result 0 of @annotated_argument
func.func @annotated_result(%x: tensor<8xf32> {shoal.donated})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @annotated_argument(%x: tensor<8xf32> {shoal.donated, shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> tensor<8xf32> {
  %y = math.exp %x : tensor<8xf32>
  %z = shoal.sharding_constraint %y <@mesh, [{}]> : tensor<8xf32>
  return %z : tensor<8xf32>
}

// Annotations that differ hold, and the memory is not given on.
// CHECK-LABEL: func @annotated_differently(
// CHECK-SAME: [{"x"}]>}) -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>})
func.func @annotated_differently(%x: tensor<8xf32> {shoal.donated, shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// One that is returned as it is keeps its memory, whichever result it is.
// CHECK-LABEL: func @returned(
// CHECK-SAME: %arg0: tensor<8xf32> {shoal.donated, shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}
// CHECK-SAME: %arg1: tensor<8xf32> {shoal.donated, shoal.sharding = #shoal.sharding<@mesh, [{}]>}
// CHECK-SAME: -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}, tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})
func.func @returned(%x: tensor<8xf32> {shoal.donated},
                    %y: tensor<8xf32> {shoal.donated, shoal.sharding = #shoal.sharding<@mesh, [{}]>})
    -> (tensor<8xf32>, tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) {
  %z = math.exp %x : tensor<8xf32>
  return %y, %z : tensor<8xf32>, tensor<8xf32>
}

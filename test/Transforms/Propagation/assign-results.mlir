// A program result without annotation takes its value as it is made, the order
// of the axes included, though the program's other annotations prefer another.
//
// RUN: shoal-opt %s --shoal-partition | FileCheck %s
// RUN: shoal-opt %s --shoal-partition --shoal-print-collectives -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES

shoal.mesh @mesh = <["a" = 2, "b" = 4]>

// BYTES-LABEL: @of_an_annotation
// BYTES: in all 512 bytes in 1 collectives
// CHECK-LABEL: @of_an_annotation
// CHECK-SAME: -> (tensor<8x16xf32> {{{.*}}shoal.sharding = #shoal.sharding<@mesh, [{"b", "a"}, {}]>}, tensor<8x16xf32> {{{.*}}shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}, {}]>})
func.func @of_an_annotation(%0: tensor<64x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}, {}]>})
    -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %y = shoal.sharding_constraint %0 <@mesh, [{"b", "a"}, {}]> : tensor<64x16xf32>
  %z = math.tanh %0 : tensor<64x16xf32>
  return %y, %z : tensor<64x16xf32>, tensor<64x16xf32>
}

// BYTES-LABEL: @of_merged_dimensions
// BYTES: in all 0 bytes
// CHECK-LABEL: @of_merged_dimensions
// CHECK-SAME: -> (tensor<8x64xf32> {{{.*}}shoal.sharding = #shoal.sharding<@mesh, [{"b", "a"}, {}]>}, tensor
func.func @of_merged_dimensions(
    %0: tensor<4x16x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"b"}, {"a"}, {}]>},
    %1: tensor<64x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}, {}]>})
    -> (tensor<64x64xf32>, tensor<64x16xf32>) {
  %y = shoal.reshape %0 : tensor<4x16x64xf32> -> tensor<64x64xf32>
  return %y, %1 : tensor<64x64xf32>, tensor<64x16xf32>
}

// Shards of a region for one device lie behind its manual axes.
// BYTES-LABEL: @of_a_region
// BYTES: in all 0 bytes
// CHECK-LABEL: @of_a_region
// CHECK-SAME: -> (tensor<8x16xf32> {{{.*}}shoal.sharding = #shoal.sharding<@mesh, [{"b", "a"}, {}]>}, tensor
func.func @of_a_region(
    %0: tensor<64x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"b", "a"}, {}]>},
    %1: tensor<64x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}, {}]>})
    -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %y = shoal.manual_computation @mesh {"b"} (%0)
      in [#shoal.sharding<@mesh, [{"b", "a"}, {}]>] out [#shoal.sharding<@mesh, [{"b", "a"}, {}]>] {
  ^bb0(%x: tensor<16x16xf32>):
    %t = math.tanh %x : tensor<16x16xf32>
    shoal.yield %t : tensor<16x16xf32>
  } : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %y, %1 : tensor<64x16xf32>, tensor<64x16xf32>
}

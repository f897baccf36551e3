// What a value of the per-device program is a shard of stands in the locations,
// for reports. What no global value is the whole of has no note: packed
// messages, the steps of windowed einsums.
//
// RUN: split-file %s %t
// RUN: shoal-opt %t/values.mlir --shoal-partition="flops-per-byte=1000 repeat-margin=1" --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=VALUES
// RUN: shoal-opt %t/ring.mlir '--shoal-partition=flops-per-byte=1000 repeat-margin=1 windowed-einsum-bytes=1' --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=RING

// VALUES: shoal.einsum {{.*}} loc(fused<{shoal.layouts = [{origin = "x: partial sums, by cost", sharding = #shoal.sharding<@mesh, [{}, {}], partial = {"x"}>, type = tensor<8x6xf32>}]}>
// VALUES: spmd.reduce_scatter {{.*}} loc(fused<{shoal.layouts = [{sharding = #shoal.sharding<@mesh, [{"x"}, {}]>, type = tensor<8x6xf32>}]}>
// Two results, each with its own.
// VALUES: shoal.top_k {{.*}} loc(fused<{shoal.layouts = [{{{.*}} type = tensor<8x2xf32>}, {{{.*}} type = tensor<8x2xi32>}]}>

// RING-NOT: spmd.collective_permute {{.*}}shoal.layouts
// RING: shoal.while
// RING: } loc(fused<{shoal.layouts = [unit, {sharding = #shoal.sharding<@mesh, [{"x"}, {}]>, type = tensor<1024x512xf32>}]}>

//--- values.mlir
shoal.mesh @mesh = <["x" = 2]>
func.func @f(%a: tensor<8x1024xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
             %b: tensor<1024x6xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
        tensor<8x2xi32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %0 = shoal.einsum "mk,kn->mn" %a, %b : (tensor<8x1024xf32>, tensor<1024x6xf32>) -> tensor<8x6xf32>
  %v, %i = shoal.top_k %0 {k = 2} : tensor<8x6xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
  return %v, %i : tensor<8x2xf32>, tensor<8x2xi32>
}

//--- ring.mlir
shoal.mesh @mesh = <["x" = 8]>
func.func @f(%a: tensor<1024x2048xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
             %b: tensor<2048x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1024x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = shoal.einsum "mk,kn->mn" %a, %b : (tensor<1024x2048xf32>, tensor<2048x512xf32>) -> tensor<1024x512xf32>
  return %0 : tensor<1024x512xf32>
}

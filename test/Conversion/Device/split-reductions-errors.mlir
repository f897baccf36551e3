// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-split-reductions

// A reduction that no kernel can run is refused where its loops are looked at
// first.
func.func @offset_that_is_not_known(%x: memref<4xf32, strided<[1], offset: ?>>, %s: memref<f32>) {
  // expected-error @below {{operand 0: a kernel's buffer has a static strided layout and elements of numbers, but got 'memref<4xf32, strided<[1], offset: ?>>'}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<4xf32, strided<[1], offset: ?>>) outs(%s : memref<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %0 = arith.addf %sum, %in : f32
    linalg.yield %0 : f32
  }
  return
}

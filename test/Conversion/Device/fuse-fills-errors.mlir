// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-fuse-fills

// A reduction that no kernel can run is refused where its loops are looked at
// first.
func.func @indexing_map_that_is_not_linear(%half: memref<2xf32>, %x: memref<4xf32>, %s: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<f32>)
  // expected-error @below {{operand 0: a kernel's indexing map is linear, but got affine_map<(d0) -> (d0 floordiv 2)>}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 floordiv 2)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%half, %x : memref<2xf32>, memref<4xf32>) outs(%s : memref<f32>) {
  ^bb0(%a: f32, %in: f32, %sum: f32):
    %0 = arith.mulf %a, %in : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// A program is of Shoal's dialects: others are refused while it is read, before
// a parser of theirs can fail on it.
//
// RUN: not shoalc %s -o %t 2>&1 | FileCheck %s
// CHECK: foreign-dialects.mlir:[[# @LINE + 3]]:{{[0-9]+}}: error: {{.*}}linalg
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // Of a kind that the attribute is not.
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = [f32]} outs(%x : tensor<4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %out : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// What lies between two products of computed values is computed again, with the
// first of these; a product with a weight ends it.
//
// RUN: shoal-opt %s --shoal-rematerialize=remat=selective | FileCheck %s

// CHECK-LABEL: func.func @attention
// CHECK: %[[Q:.*]] = shoal.einsum "sm,md->sd"
// CHECK: shoal.einsum "st,td->sd"
// Neither q nor what attention makes of it again.
// CHECK-NOT: ->sd"
// CHECK: %[[SAVED:.*]] = shoal.optimization_barrier %[[Q]]
// CHECK-NEXT: %[[AGAIN:.*]] = shoal.einsum "sd,td->st" %[[SAVED]], %[[SAVED]]
// CHECK-NEXT: math.exp %[[AGAIN]]
func.func @attention(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %g: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x8xf32>) {
  %q = shoal.einsum "sm,md->sd" %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %s = shoal.einsum "sd,td->st" %q, %q : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %p = math.exp %s : tensor<8x8xf32>
  %o = shoal.einsum "st,td->sd" %p, %q : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %t = shoal.einsum "sd,td->st" %g, %o : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32> loc(#gradient)
  %d = arith.mulf %t, %p : tensor<8x8xf32> loc(#gradient)
  return %o, %d : tensor<8x4xf32>, tensor<8x8xf32>
}

#gradient = loc(fused<"gradient">["a.py":1:1])

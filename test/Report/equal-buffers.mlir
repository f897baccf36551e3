// Buffers of one type, which the lowering makes of one tensor.empty, belong each
// to the op that writes it.
//
// RUN: shoalc %s --emit=report -o %t.html
// RUN: %python %shoal_src_root/test/python/support/report_page.py %t.html | FileCheck %s

// CHECK: ops [[FIRST:[0-9]+]] {{.*}}einsum \"mk,kn->mn\" %arg0, %arg0
// CHECK: ops [[SECOND:[0-9]+]] {{.*}}einsum \"mk,kn->nm\"
// CHECK: memory {"arena": 512, "arguments": 512, "constants": 0, "live": 512, "peak": 1024,
// CHECK-DAG: buffer {{.*}}"first": 0, {{.*}}"op": [[FIRST]]
// CHECK-DAG: buffer {{.*}}"first": 1, {{.*}}"op": [[SECOND]]
func.func @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = shoal.einsum "mk,kn->mn" %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = shoal.einsum "mk,kn->nm" %0, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = shoal.einsum "mk,kn->mn" %1, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// RUN: shoal-run %s --random-inputs=1 --compare | FileCheck %s
// RUN: not shoal-run %s --random-inputs=1 --compare --tolerance=0 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: shoal-run %s --random-inputs=1 --devices=4 --output-dir %t
// RUN: not shoal-run %s --random-inputs=1 --devices=2 2>&1 | FileCheck %s --check-prefix=DEVICES

// The partial sums of four devices are rounded to f32 one by one.
// CHECK: product: tensor<8x8xf32> largest difference {{.*}}e-{{.*}} absolute, {{.*}} relative, tolerance 1e-05: ok
// CHECK: negated: tensor<8x64xf32> largest difference 0 absolute, 0 relative, tolerance 1e-05: ok
// EXACT: product: {{.*}} tolerance 0: too far apart
// EXACT: negated: {{.*}} tolerance 0: ok
// EXACT: error: the partitioned program differs from the global one
// DEVICES: error: --devices=2: mesh @mesh has 4 devices

shoal.mesh @mesh = <["x" = 4]>

func.func @main(%a: tensor<8x64xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<64x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {shoal.name = "product"}, tensor<8x64xf32> {shoal.name = "negated"}) {
  %0 = shoal.einsum "ij,jk->ik" %a, %b : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %1 = arith.negf %a : tensor<8x64xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x64xf32>
}

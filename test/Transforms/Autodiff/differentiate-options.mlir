// RUN: shoal-opt %s --shoal-differentiate="function=loss wrt=1" | FileCheck %s
// RUN: shoal-opt %s --shoal-differentiate="function=loss mode=vjp name=pull" | FileCheck %s --check-prefix=VJP
// RUN: not shoal-opt %s --shoal-differentiate="function=lost" 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: not shoal-opt %s --shoal-differentiate="function=loss mode=forward" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not shoal-opt %s --shoal-differentiate="function=loss name=loss" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not shoal-opt %s --shoal-differentiate="function=loss wrt=2" 2>&1 | FileCheck %s --check-prefix=WRT

// Names and shardings are those of the arguments.
// CHECK: func.func @loss_grad(%{{.*}}: tensor<4xf32> {shoal.name = "x"}, %{{.*}}: tensor<4xf32> {shoal.name = "w"})
// CHECK-SAME: -> (tensor<f32> {shoal.name = "loss"}, tensor<4xf32> {shoal.name = "grad.w"})
// VJP: func.func @pull(%{{.*}}: tensor<4xf32> {shoal.name = "x"}, %{{.*}}: tensor<4xf32> {shoal.name = "w"}, %{{.*}}: tensor<f32> {shoal.name = "cotangent.loss"})
// VJP-SAME: -> (tensor<f32> {shoal.name = "loss"}, tensor<4xf32> {shoal.name = "grad.x"}, tensor<4xf32> {shoal.name = "grad.w"})
// LOST: error: function: there is no @lost
// MODE: error: mode: expected value-and-grad, grad or vjp but got forward
// NAME: error: name: there is a @loss already
// WRT: error: wrt: @loss has no argument 2: it has 2
func.func @loss(%x: tensor<4xf32> {shoal.name = "x"}, %w: tensor<4xf32> {shoal.name = "w"}) -> (tensor<f32> {shoal.name = "loss"}) {
  %y = shoal.einsum "A,A->" %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Layers that are alike have one kernel; one of another shape has its own. The
// location of a kernel is that of the first place.

// RUN: shoal-opt %s --shoal-lower-to-cpu --mlir-print-debuginfo | FileCheck %s

shoal.mesh @mesh = <["x" = 2]>

// CHECK-LABEL: llvm.func @layers(
// CHECK: llvm.call @[[BEND:layers_kernel_[0-9]+]](
// CHECK: llvm.call @shoal_rt_einsum
// CHECK: llvm.call @[[BEND]](
// CHECK: llvm.call @shoal_rt_einsum
// CHECK-NOT: llvm.call @[[BEND]](
// CHECK: llvm.call @[[OTHER:layers_kernel_[0-9]+]](
// CHECK: llvm.func @[[BEND]]({{.*}} loc("first.py":1:1)
// CHECK-NOT: "second.py"
// CHECK: llvm.func @[[OTHER]](
// CHECK-NOT: @layers_kernel
func.func @layers(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {shoal.spmd} {
  %a = shoal.einsum "IK,KJ->IJ" %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = math.tanh %a : tensor<64x64xf32> loc("first.py":1:1)
  %1 = shoal.einsum "IK,KJ->IJ" %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = math.tanh %1 : tensor<64x64xf32> loc("second.py":2:2)
  %3 = shoal.einsum "IK,KJ->IJ" %2, %v : (tensor<64x64xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
  %4 = math.tanh %3 : tensor<64x48xf32>
  return %4 : tensor<64x48xf32>
}

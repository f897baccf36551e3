// RUN: shoal-opt %s --shoal-to-linalg | FileCheck %s
// RUN: shoal-opt %s --shoal-lower-to-cpu | FileCheck %s --check-prefix=CPU

// A call on values of no elements is made, too, and those that are equal are not one.
// CHECK-LABEL: func @main
// CHECK: rt.host_call "x = {0}" at "{{.*}}host-call.mlir:15:3" ins(%{{.*}} : tensor<4xf32>) when(%{{.*}} : tensor<i1>)
// CHECK-COUNT-2: rt.host_call "f" number 0 at "f.py:3:5" {{.*}} outs(%{{.*}} : tensor<0xf32>)
// CPU-LABEL: llvm.func @main
// CPU: llvm.call @shoal_rt_host_call
// CPU: llvm.call @shoal_rt_host_call
// CPU: llvm.call @shoal_rt_host_call
// CPU-NOT: llvm.call @shoal_rt_host_call
shoal.mesh @mesh = <["d" = 2]>
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<0xf32> attributes {shoal.spmd} {
  shoal.print "x = {0}"(%x) when %c : (tensor<4xf32>, tensor<i1>) -> ()
  %a = shoal.host_call 0 "f"(%x) : (tensor<4xf32>) -> tensor<0xf32> loc("f.py":3:5)
  %b = shoal.host_call 0 "f"(%x) : (tensor<4xf32>) -> tensor<0xf32> loc("f.py":3:5)
  return %b : tensor<0xf32>
}

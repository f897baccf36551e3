// RUN: shoal-opt %s --shoal-plan-products=machine=cpu --shoal-lower-runtime-calls | FileCheck %s --check-prefix=CALLS
// RUN: shoal-opt %s --shoal-lower-to-cpu | FileCheck %s --check-prefix=LLVM

// CALLS-DAG: llvm.func @shoal_rt_cumulative(!llvm.ptr, !llvm.ptr, !llvm.ptr)
// CALLS-DAG: llvm.func @shoal_rt_einsum(!llvm.ptr, ...)
// CALLS-DAG: llvm.mlir.global internal constant @shoal_desc_0(dense<[0, 0, 1, 4, 0, 0, 0]> : tensor<7xi64>)
// Meshes and axes become numbers: mesh 1 has the axis at place 1.
// CALLS-DAG: @shoal_desc_2(dense<[3, 0, 1, 0, 4, 1, 1, 1, 2]> : tensor<9xi64>)
// CALLS-NOT: shoal.mesh
// CALLS-LABEL: @calls
// CALLS: %[[Y:.*]] = builtin.unrealized_conversion_cast %arg1 : memref<4xf32> to !llvm.ptr
// CALLS: %[[X:.*]] = builtin.unrealized_conversion_cast %arg0 : memref<4xf32> to !llvm.ptr
// CALLS: %[[D:.*]] = llvm.mlir.addressof @shoal_desc_0
// CALLS: llvm.call @shoal_rt_cumulative(%[[D]], %[[X]], %[[Y]])
// CALLS: llvm.call @shoal_rt_einsum({{.*}}) vararg

// LLVM-LABEL: llvm.func @calls(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr
// LLVM-NOT: {{[^a-z]}}rt.
func.func @calls(%x: memref<4xf32>, %y: memref<4xf32>) attributes {shoal.spmd} {
  rt.cumulative sum dim 0 ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  rt.einsum "a,a->a" ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

shoal.mesh @line = <["x" = 4]>
shoal.mesh @grid = <["a" = 2, "b" = 2]>
func.func @reduces(%x: memref<4xf32>, %y: memref<4xf32>) attributes {shoal.spmd} {
  rt.all_reduce sum @grid {"b"} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {collective = 3 : i64}
  return
}

// LLVM-LABEL: llvm.func @bf16_is_held_in_i16
// LLVM-NOT: bf16
// LLVM: llvm.return
func.func @bf16_is_held_in_i16(%x: memref<4xbf16>, %c: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : bf16
  %0 = memref.load %x[%c0] : memref<4xbf16>
  %1 = memref.load %c[%c0] : memref<4xi1>
  %2 = arith.select %1, %0, %one : bf16
  memref.store %2, %x[%c0] : memref<4xbf16>
  return
}

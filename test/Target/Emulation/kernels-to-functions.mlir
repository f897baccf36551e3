// RUN: shoal-opt %s --shoal-kernels-to-functions | FileCheck %s
// RUN: shoal-opt %s --shoal-lower-kernels-to-functions | FileCheck %s --check-prefix=EXPORT

// CHECK-NOT: gpu.
// CHECK-LABEL: func.func @k(%arg0: memref<4xf32> {llvm.noalias}, %arg1: !llvm.ptr) attributes {shoal.kernel}
// CHECK: %[[SHARED:.*]] = call @shoal_emu_shared(%c0_i64, %c128_i64)
// CHECK: memref.view %[[SHARED]]
// CHECK: llvm.getelementptr %arg1[1]
// CHECK: llvm.getelementptr %arg1[3]
// CHECK: call @shoal_emu_barrier()
// CHECK: call @shoal_emu_shuffle(%c0_i32
// EXPORT: llvm.func @k(%[[SELF:.*]]: !llvm.ptr, %[[ARGUMENTS:.*]]: !llvm.ptr)
// EXPORT: llvm.call @k.body(%{{.*}}, %[[SELF]])
// EXPORT: llvm.func internal @k.body
gpu.module @kernels {
  gpu.func @k(%x: memref<4xf32> {llvm.noalias}) workgroup(%w: memref<32xf32, #gpu.address_space<workgroup>>) kernel {
    %t = gpu.thread_id y
    %b = gpu.block_id x
    %0 = memref.load %x[%b] : memref<4xf32>
    memref.store %0, %w[%t] : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %i = arith.bitcast %0 : f32 to i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %s, %valid = gpu.shuffle xor %i, %c1, %c32 : i32
    %f = arith.bitcast %s : i32 to f32
    memref.store %f, %x[%t] : memref<4xf32>
    gpu.return
  }
}

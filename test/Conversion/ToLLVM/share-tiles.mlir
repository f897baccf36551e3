// RUN: shoal-opt %s --shoal-share-tiles --split-input-file | FileCheck %s

// CHECK: llvm.func @shoal_rt_parallel_for(i64, i64, !llvm.ptr, !llvm.ptr)
// CHECK-LABEL: llvm.func @kernel(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr, %[[I:.*]]: i64)
// CHECK: %[[WORDS:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: %[[ARRAY:.*]] = llvm.alloca %[[WORDS]] x i64
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(64 : i64)
// CHECK: llvm.store %[[X]]
// CHECK: llvm.store %[[I]]
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(32768 : i64)
// CHECK: %[[ENTRY:.*]] = llvm.mlir.addressof @kernel_tiles_entry
// CHECK: llvm.call @shoal_rt_parallel_for(%[[COUNT]], %[[BYTES]], %[[ENTRY]], %[[ARRAY]])
// CHECK-NOT: llvm.call @kernel_tiles(
// CHECK-NEXT: llvm.return
llvm.func @kernel(%x: !llvm.ptr, %i: i64) {
  %0 = llvm.mlir.constant(0 : i64) : i64
  %1 = llvm.mlir.constant(64 : i64) : i64
  llvm.call @kernel_tiles(%0, %1, %x, %i) : (i64, i64, !llvm.ptr, i64) -> ()
  llvm.return
}
// CHECK: llvm.func private @kernel_tiles(
// CHECK-NOT: shoal.tile_bytes
// CHECK: llvm.func private @kernel_tiles_entry(%[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[ARGUMENTS:.*]]: !llvm.ptr)
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[I:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: llvm.call @kernel_tiles(%[[BEGIN]], %[[END]], %[[X]], %[[I]])
llvm.func private @kernel_tiles(%begin: i64, %end: i64, %x: !llvm.ptr, %i: i64) attributes {shoal.tile_bytes = 32768 : i64} {
  llvm.return
}

// -----

// A program without such kernels calls nothing.
// CHECK-NOT: shoal_rt_parallel_for
llvm.func @kernel(%x: !llvm.ptr) {
  llvm.return
}

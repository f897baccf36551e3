// RUN: shoal-opt %s --shoal-add-scratch=machine=cpu | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: shoal-opt %s --shoal-add-scratch=machine=gpu | FileCheck %s --check-prefixes=CHECK,DEVICE
// RUN: shoal-opt %s --shoal-add-scratch=machine=cpu --shoal-plan-memory | FileCheck %s --check-prefix=PLAN

// Two keys of 8 bytes, two places and two orders of 4 bytes each on a device;
// one line's key and order on a CPU.
// CHECK-LABEL: @sorts
// CPU: %[[S:.*]] = memref.alloc() : memref<768xi8>
// DEVICE: %[[S:.*]] = memref.alloc() : memref<8192xi8>
// CHECK: rt.sort {{.*}} scratch(%[[S]] : memref<{{[0-9]+}}xi8>)
// CHECK: rt.top_k
// CHECK-NOT: scratch
// CHECK: return
// PLAN-LABEL: @sorts
// PLAN-SAME: shoal.arena_bytes = 768
func.func @sorts(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %v: memref<4x2xf32>, %i: memref<4x2xi32>) {
  rt.sort keys 1 dim 1 ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>)
  rt.top_k ins(%x : memref<4x64xf32>) outs(%v, %i : memref<4x2xf32>, memref<4x2xi32>)
  return
}

// The calls of a loop on a device share what the largest needs. On a CPU each
// has its own while it runs, and both lie at the same place.
// CHECK-LABEL: @calls_of_a_loop_share
// DEVICE: %[[S:.*]] = memref.alloc() : memref<8192xi8>
// DEVICE-NOT: memref.alloc
// CHECK: scf.for
// CPU-NEXT: %[[S:.*]] = memref.alloc() : memref<768xi8>
// CHECK-NEXT: rt.sort {{.*}} scratch(%[[S]]
// CPU-NEXT: %[[T:.*]] = memref.alloc() : memref<1024xi8>
// CPU-NEXT: rt.sort {{.*}} scratch(%[[T]]
// DEVICE-NEXT: rt.sort {{.*}} scratch(%[[S]]
// PLAN-LABEL: @calls_of_a_loop_share
// PLAN-SAME: shoal.arena_bytes = 1024
func.func @calls_of_a_loop_share(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %z: memref<64x4xf32>, %w: memref<64x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c5 step %c1 {
    rt.sort keys 1 dim 1 ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>)
    rt.sort keys 1 dim 1 ins(%z : memref<64x4xf32>) outs(%w : memref<64x4xf32>)
  }
  return
}

// A CPU lists the scatters of windows that are not in order, 16 bytes
// for each of 32 elements.
// CHECK-LABEL: @scatters
// CPU: %[[S:.*]] = memref.alloc() : memref<512xi8>
// CHECK: rt.scatter
// CPU-SAME: scratch(%[[S]]
// CHECK: rt.scatter
// CHECK-NOT: scratch
// CHECK: return
func.func @scatters(%i: memref<4xi32>, %u: memref<8x4xf32>, %v: memref<8xf32>, %x: memref<8x8xf32>) {
  rt.scatter <[8 by 1 at 0, 8 by 8 step 4] loop [4 : 1, 0, 1]> kind sum
    ins(%i, %u : memref<4xi32>, memref<8x4xf32>) outs(%x : memref<8x8xf32>)
  rt.scatter <[8 by 1 at 0, 8 by 8 step 1] loop [1 : 1, 0, 8]> kind sum
    ins(%i, %v : memref<4xi32>, memref<8xf32>) outs(%x : memref<8x8xf32>)
  return
}

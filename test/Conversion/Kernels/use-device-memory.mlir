// What the host did with buffers becomes calls of the runtime.
//
// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-use-device-memory | FileCheck %s

// CHECK: memref.global "private" constant @table : memref<3xf32> = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> {shoal.arena_offset = 64 : i64}
memref.global "private" constant @table : memref<3xf32> = dense<[1.0, 2.0, 3.0]>

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg2: memref<128xi8>) attributes {shoal.arena_bytes = 128 : i64, shoal.constant_bytes = 64 : i64, shoal.live_bytes = 104 : i64}
func.func @main(%more: memref<i1>, %out: memref<3xf32>, %arena: memref<64xi8>) attributes {shoal.arena_bytes = 64 : i64, shoal.live_bytes = 40 : i64} {
  scf.while : () -> () {
    // CHECK: %[[GO:.*]] = rt.read_scalar %arg0 : memref<i1>
    // CHECK: scf.condition(%[[GO]])
    %go = memref.load %more[] : memref<i1>
    scf.condition(%go)
  } do {
    // CHECK: %[[TABLE:.*]] = memref.view %arg2[%c64{{.*}}][] : memref<128xi8> to memref<3xf32>
    // CHECK: rt.copy ins(%[[TABLE]] : memref<3xf32>) outs(%arg1 : memref<3xf32>)
    %table = memref.get_global @table : memref<3xf32>
    memref.copy %table, %out : memref<3xf32> to memref<3xf32>
    scf.yield
  }
  return
}

// -----

func.func @main(%scale: memref<f32>, %arena: memref<0xi8>) attributes {shoal.arena_bytes = 0 : i64, shoal.live_bytes = 0 : i64} {
  // expected-error @below {{the host can read integers of buffers of rank 0 from the device, but not from 'memref<f32>'}}
  %0 = memref.load %scale[] : memref<f32>
  return
}

// -----

// expected-error @below {{has no arena: expected --shoal-plan-memory to come before}}
func.func @main(%scale: memref<f32>) {
  return
}

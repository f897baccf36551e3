// What becomes of copies, loads, constants and calls, and how often.

// RUN: shoal-opt %s --shoal-use-device-memory --shoal-lower-runtime-calls --shoal-statistics -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COUNT
// RUN: %if asserts %{ shoal-opt %s --shoal-use-device-memory --shoal-lower-runtime-calls -o /dev/null \
// RUN:   --debug-only=shoal-use-device-memory,shoal-lower-runtime-calls:2 2>&1 | FileCheck %s %}

// COUNT-DAG: 3 shoal-lower-runtime-calls {{ *}}- Calls of the runtime
// COUNT-DAG: 2 shoal-lower-runtime-calls {{ *}}- Functions of it that are called
// COUNT-DAG: shoal-lower-runtime-calls {{ *}}- Words of descriptors
// COUNT-DAG: 12 shoal-use-device-memory {{ *}}- Bytes of constants
// COUNT-DAG: 1 shoal-use-device-memory {{ *}}- Constants in the arena
// COUNT-DAG: 2 shoal-use-device-memory {{ *}}- Copies on the device
// COUNT-DAG: 1 shoal-use-device-memory {{ *}}- Scalars that the host waits for

memref.global "private" constant @table : memref<3xf32> = dense<[1.0, 2.0, 3.0]>

// CHECK: [shoal-use-device-memory {{.*}}] the device copies memref<3xf32> at {{.*}}debug-calls.mlir:[[# @LINE + 9]]:3
// CHECK-NEXT: the device copies memref<3xf32> at {{.*}}:[[# @LINE + 9]]:3
// CHECK-NEXT: the host waits for memref<i1> at {{.*}}:[[# @LINE + 9]]:9
// CHECK-NEXT: @table of 12 bytes lies in the arena at 64
// CHECK-NEXT: [shoal-lower-runtime-calls {{.*}}] shoal_desc_0 = [12]
// CHECK-NEXT: rt.copy at {{.*}}:[[# @LINE + 4]]:3 calls @shoal_rt_copy with 2 buffers
func.func @main(%more: memref<i1>, %out: memref<3xf32>, %again: memref<3xf32>, %arena: memref<64xi8>) -> i1
    attributes {shoal.arena_bytes = 64 : i64, shoal.live_bytes = 40 : i64} {
  %table = memref.get_global @table : memref<3xf32>
  memref.copy %table, %out : memref<3xf32> to memref<3xf32>
  memref.copy %out, %again : memref<3xf32> to memref<3xf32>
  %go = memref.load %more[] : memref<i1>
  return %go : i1
}

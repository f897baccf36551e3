// RUN: shoal-opt %s --shoal-plan-memory | FileCheck %s

// An unused argument is flattened only where it is known to be empty.

// CHECK: @unused(%{{.*}}: memref<3x?xf32>, %{{.*}}: memref<0xf32>
func.func @unused(%x: memref<3x?xf32>, %y: memref<3x0xf32>) {
  return
}

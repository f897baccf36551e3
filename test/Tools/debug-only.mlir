// What passes decide, in builds with assertions.

// REQUIRES: asserts
// RUN: shoal-opt %s --shoal-partition=flops-per-byte=1000 --debug-only=shoal-assign,shoal-plan-reshards -o /dev/null 2>&1 | FileCheck %s
// RUN: shoal-opt %s --shoal-partition=flops-per-byte=1000 --debug-only=shoal-localize -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOCALIZE
// RUN: shoal-opt %s --shoal-partition=flops-per-byte=1000 --debug-only=shoal-assign:2 -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEVEL

// CHECK: [shoal-assign Assign.cpp:{{.*}}] @main: 5 ops, 4 values
// CHECK: [shoal-assign Assignment.cpp:{{.*}}] greedy, from the hints
// CHECK: [shoal-assign Assignment.cpp:{{.*}}] the second start costs 97, the one before 97: left
// CHECK: [shoal-assign Assign.cpp:{{.*}}] costs {{.*}}, of which 96 bytes sent
// CHECK: [shoal-assign Assign.cpp:{{.*}}] reshards {{.*}} 96 bytes, for operand 0 of shoal.sharding_constraint
// CHECK-NOT: shoal-localize
// CHECK: [shoal-plan-reshards PlanReshards.cpp:{{.*}}]   all_to_all -> <@mesh, [{}, {"x"}]>

// LOCALIZE-NOT: shoal-assign
// LOCALIZE: [shoal-localize Localize.cpp:{{.*}}] math.exp at {{.*}} by its factor rule

// LEVEL: [shoal-assign {{.*}} 1]

shoal.mesh @mesh = <["x" = 4]>
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = shoal.split %x {dim = 0, num_partitions = 4} : tensor<8x16xf32>
  %1 = math.exp %0 : tensor<8x16xf32>
  %2 = shoal.split %1 {dim = 1, num_partitions = 4} : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

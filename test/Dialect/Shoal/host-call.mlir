// RUN: shoal-opt %s | shoal-opt | FileCheck %s
// RUN: shoal-opt %s -canonicalize -cse | FileCheck %s --check-prefix=CSE

// CHECK-LABEL: func @round_trip
func.func @round_trip(%x: tensor<8x4xf32>, %n: tensor<i32>, %c: tensor<i1>) -> tensor<4xf32> {
  // CHECK: shoal.print "x = {0}, {1:>5d} {{[{][{]}}}}"(%{{.*}}, %{{.*}}) {unsigned_inputs = array<i64: 1>} : (tensor<8x4xf32>, tensor<i32>) -> ()
  shoal.print "x = {0}, {1:>5d} {{}}"(%x, %n) {unsigned_inputs = array<i64: 1>} : (tensor<8x4xf32>, tensor<i32>) -> ()
  // CHECK: shoal.print "here"() when %{{.*}} : (tensor<i1>) -> ()
  shoal.print "here"() when %c : (tensor<i1>) -> ()
  // CHECK: shoal.host_call 3 "seen"(%{{.*}}) {on_shards} : (tensor<8x4xf32>) -> ()
  shoal.host_call 3 "seen"(%x) {on_shards} : (tensor<8x4xf32>) -> ()
  // CHECK: shoal.host_call 0 "mean"(%{{.*}}) {pure} : (tensor<8x4xf32>) -> tensor<4xf32>
  %m = shoal.host_call 0 "mean"(%x) {pure} : (tensor<8x4xf32>) -> tensor<4xf32>
  return %m : tensor<4xf32>
}

// Equal prints and calls stay; of pure calls one, and none that nobody reads.
// CSE-LABEL: func @effects
func.func @effects(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CSE-COUNT-2: shoal.print "x"()
  shoal.print "x"() : () -> ()
  shoal.print "x"() : () -> ()
  // CSE-COUNT-2: shoal.host_call 0 "f"
  %a = shoal.host_call 0 "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = shoal.host_call 0 "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CSE-NEXT: %[[PURE:.*]] = shoal.host_call 1 "g"
  // CSE-NOT: shoal.host_call
  %c = shoal.host_call 1 "g"(%x) {pure} : (tensor<4xf32>) -> tensor<4xf32>
  %d = shoal.host_call 1 "g"(%x) {pure} : (tensor<4xf32>) -> tensor<4xf32>
  %e = shoal.host_call 2 "h"(%x) {pure} : (tensor<4xf32>) -> tensor<4xf32>
  // CSE: return %[[PURE]], %[[PURE]]
  return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// RUN: shoal-opt %s -split-input-file --shoal-partition | FileCheck %s

// What is split is gathered, and the first device prints.
// CHECK-LABEL: func @print_whole
// CHECK: %[[WHOLE:.*]] = spmd.all_gather
// CHECK: %[[INDEX:.*]] = spmd.axis_index @mesh {"a", "b"}
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[INDEX]]
// CHECK: shoal.print "{0}"(%[[WHOLE]]) when %[[FIRST]] : (tensor<8x4xf32>, tensor<i1>) -> ()
shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @print_whole(%x: tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}, {}]>}) {
  shoal.print "{0}"(%x) : (tensor<8x4xf32>) -> ()
  return
}

// -----

// Every device prints what it has.
// CHECK-LABEL: func @print_shards
// CHECK-NEXT: shoal.print "{0}"(%arg0) {on_shards} : (tensor<2x4xf32>) -> ()
shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @print_shards(%x: tensor<8x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}, {}]>}) {
  shoal.print "{0}"(%x) {on_shards} : (tensor<8x4xf32>) -> ()
  return
}

// -----

// An uneven shard has rows that do not exist: devices print the whole.
// CHECK-LABEL: func @print_uneven_shards
// CHECK: shoal.print "{0}"({{.*}}) {on_shards} : (tensor<7xf32>) -> ()
shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @print_uneven_shards(%x: tensor<7xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}]>}) {
  shoal.print "{0}"(%x) {on_shards} : (tensor<7xf32>) -> ()
  return
}

// -----

// The first device calls and all get its results, with a part for each where it is
// wanted so; of booleans any.
// CHECK-LABEL: func @call
// CHECK: %[[CALL:.*]]:2 = shoal.host_call 0 "f"(%{{.*}}) when %{{.*}} : (tensor<8xf32>, tensor<i1>) -> (tensor<8xf32>, tensor<i1>)
// CHECK-DAG: spmd.reduce_scatter sum @mesh {{.*}} %[[CALL]]#0
// CHECK-DAG: spmd.all_reduce or @mesh {"a", "b"} %[[CALL]]#1 {{.*}}the host's answer, which one device got
shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @call(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}]>})
    -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"a", "b"}]>}, tensor<i1>) {
  %y:2 = shoal.host_call 0 "f"(%x) {pure} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<i1>)
  return %y#0, %y#1 : tensor<8xf32>, tensor<i1>
}

// -----

// In a region for one device along "a" the first along "b" speaks.
// CHECK-LABEL: func @manual
// CHECK: %[[INDEX:.*]] = spmd.axis_index @mesh {"b"}
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[INDEX]]
// CHECK: shoal.print "{0}"(%{{.*}}) when %[[FIRST]] : (tensor<4xf32>, tensor<i1>) -> ()
shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @manual(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = shoal.manual_computation @mesh {"a"} (%x)
      in [#shoal.sharding<@mesh, [{"a"}]>] out [#shoal.sharding<@mesh, [{"a"}]>] {
  ^bb0(%s: tensor<4xf32>):
    shoal.print "{0}"(%s) : (tensor<4xf32>) -> ()
    shoal.yield %s : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A text alone has no value that could be split.
// CHECK-LABEL: func @print_text
// CHECK: shoal.print "begun"() when
shoal.mesh @mesh = <["a" = 2]>
func.func @print_text(%x: tensor<4xf32>) -> tensor<4xf32> {
  shoal.print "begun"() : () -> ()
  return %x : tensor<4xf32>
}

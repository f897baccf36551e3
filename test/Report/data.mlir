// The data of a report: what a value of the partitioned program is a shard of,
// why and where a collective is, which buffer is where and when.
//
// RUN: shoalc %s --emit=report -o %t.html
// RUN: %python %shoal_src_root/test/python/support/report_page.py %t.html | FileCheck %s

// CHECK: name "f"
// CHECK: devices 4
// CHECK: target "cpu"
// CHECK: flops {"device": 336, "einsum": 336, "global_einsum": 1344
// CHECK: meshes 0 {{.*}}"name": "x", "roles": "", "size": 4
// CHECK: inputs 0 {{.*}}"local_shape": [8, 3], {{.*}}"name": "a", "shape": [8, 12]
// CHECK: outputs 0 {{.*}}"name": "y"

// Split over "x", and sums not yet reduced over "x".
// CHECK: layouts [[SPLIT:[0-9]+]] {"dims": {{\[\[}}], [{"axis": 0, "pre": 1, "size": 4}]], "manual": [], "mesh": 0, "partial": []}
// CHECK: layouts [[PARTIAL:[0-9]+]] {"dims": {{\[\[}}], []], "manual": [], "mesh": 0, "partial": [{"axis": 0, "pre": 1, "size": 4}]}
// CHECK: collectives 0 {"axes": "{\"x\"}", "bytes": 336, "group_size": 4, "kind": "all_reduce", "op": [[REDUCE:[0-9]+]], "reason": "result 0 \"y\" of @f: <@mesh, [{}, {}], partial = {\"x\"}> -> <@mesh, [{}, {}]>", "runs": 1}

// CHECK: products 0 {"op": [[EINSUM:[0-9]+]], "plan": "cpu loops [8 : 3, 0, 7] [7 : 0, 1, 1] over [3 : 1, 7, 0]"}

// The argument, the einsum's result and the collective's.
// CHECK: values 0 {{.*}}"dtype": "f32", "global": [8, 12], "layout": [[SPLIT]], "name": "%arg0", "origin": "{{.*}}", "shape": [8, 3]
// CHECK: values {{.*}}"global": [8, 7], "layout": [[PARTIAL]], "name": "%0"
// CHECK: ops [[EINSUM]] {"depth": 0, "flops": 336, "loc": [0, [[#@LINE+13]], 8], "name": "shoal.einsum", "operands": [0, 1], "results": [2]
// CHECK: ops [[REDUCE]] {{.*}}"name": "spmd.all_reduce"
// CHECK-NOT: why =
// CHECK: files 0 {"lines": {"[[#@LINE+10]]": "%0 = shoal.einsum {{.*}}"name": "{{.*}}data.mlir"}

// The einsum writes into the output, where the all_reduce sums: there is no arena.
// CHECK: memory {"arena": 0, "arguments": 404, "constants": 0, "live": 0, "peak": 404, "shared": 0, "steps": []}
// CHECK-NOT: buffer

shoal.mesh @mesh = <["x" = 4]>
func.func @f(%a: tensor<8x12xf32> {shoal.name = "a", shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"}]>},
             %b: tensor<12x7xf32> {shoal.name = "b", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x7xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) {
  %0 = shoal.einsum "mk,kn->mn" %a, %b : (tensor<8x12xf32>, tensor<12x7xf32>) -> tensor<8x7xf32>
  return %0 : tensor<8x7xf32>
}

// A collective has the name of its part of the program, and what the axes of its
// group are for: as a role has them, several roles, or a part of one.
//
// RUN: shoalc %s --emit=report -o %t.html
// RUN: %python %shoal_src_root/test/python/support/report_page.py %t.html | FileCheck %s
// RUN: shoalc %s --emit=summary -o - | FileCheck %s --check-prefix=SUMMARY
// RUN: shoal-opt %s --shoal-assign --shoal-explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// CHECK-DAG: collectives {{.*}}"axes": "{\"b\"}"{{.*}}"layer": "layers.0/attention"{{.*}}"roles": "etp, tp"
// CHECK-DAG: collectives {{.*}}"axes": "{\"a\"}"{{.*}}"layer": "layers.0/experts"{{.*}}"roles": "part of ep"
// CHECK-DAG: collectives {{.*}}"axes": "{\"c\", \"b\"}"{{.*}}"layer": "head"{{.*}}"roles": "dp + etp + tp"

// SUMMARY: etp, tp, in layers.0/attention
// EXPLAIN: reshard %arg0 {{.*}} bytes, over etp, tp, for operand 0 {{.*}}, in layers.0/attention
// EXPLAIN: reshard %arg1 {{.*}} bytes, over part of ep, for
// EXPLAIN: reshard %arg2 {{.*}} bytes, over dp + etp + tp, for

shoal.mesh @mesh = <["c" = 2, "a" = 2, "b" = 2]>
    {shoal.roles = {dp = ["c"], ep = ["a", "b"], etp = ["b"], tp = ["b"]}}
func.func @f(%x: tensor<8x8xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"b"}, {}]>},
             %y: tensor<8x8xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{"a"}, {}]>},
             %z: tensor<8x8xf32> {shoal.name = "z", shoal.sharding = #shoal.sharding<@mesh, [{"c", "b"}, {}]>})
    -> (tensor<8x8xf32> {shoal.name = "p"}, tensor<8x8xf32> {shoal.name = "q"}, tensor<8x8xf32> {shoal.name = "r"}) {
  %p = shoal.sharding_constraint %x <@mesh, [{}, {}]> : tensor<8x8xf32> loc("layers.0/attention"("m.py":1:1))
  %q = shoal.sharding_constraint %y <@mesh, [{}, {}]> : tensor<8x8xf32> loc("layers.0/experts"("m.py":2:1))
  %r = shoal.sharding_constraint %z <@mesh, [{}, {}]> : tensor<8x8xf32> loc("head"("m.py":3:1))
  return %p, %q, %r : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

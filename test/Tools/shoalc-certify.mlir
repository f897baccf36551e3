// --certify says what no shardings cost less than: of one product of two whole
// matrices nothing need be sent, and none cost less.

// RUN: shoalc %s --certify --emit=summary -o - 2> %t.said | FileCheck %s --check-prefix=SUMMARY
// RUN: FileCheck %s --check-prefix=SAID < %t.said
// RUN: shoalc %s --emit=summary --stats=%t.json -o - | FileCheck %s --check-prefix=PLAIN --implicit-check-not='none cost less'
// RUN: FileCheck %s --check-prefix=NULL < %t.json
// RUN: shoalc %s --certify --emit=summary --stats=%t.json -o /dev/null
// RUN: FileCheck %s --check-prefix=STATS < %t.json
// RUN: shoalc %s --certify --machine=%shoal_src_root/machines/dgx-h100.toml --emit=summary -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIME

// SAID: certify.mlir:[[# @LINE + 11]]:{{[0-9]+}}: remark: shardings cost {{[0-9,]+}} bytes with operations, and none cost less
// SUMMARY: shardings cost {{[0-9,]+}} bytes with operations, and none cost less
// PLAIN: collectives:
// NULL: "certificate": null
// STATS: "certificate": {
// STATS-NEXT: "cost": [[COST:[0-9.]+]],
// STATS-NEXT: "lower_bound": [[COST]],
// STATS-NEXT: "unit": "bytes"
// TIME: remark: shardings cost {{[0-9.]+}} us, and none cost less

shoal.mesh @mesh = <["x" = 4]>
func.func @f(%x: tensor<64x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
             %w: tensor<32x128xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>},
             %v: tensor<128x32xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}) -> tensor<64x32xf32> {
  %h = shoal.einsum "BI,IJ->BJ" %x, %w : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %y = shoal.einsum "BJ,JI->BI" %h, %v : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}

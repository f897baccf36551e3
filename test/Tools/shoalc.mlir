// What shoalc writes of a per-device program.
//
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s --emit=summary | FileCheck %s --check-prefix=REPORT
// RUN: shoalc %s --emit=spmd -o %t/spmd.mlir && shoalc %t/spmd.mlir --emit=summary | FileCheck %s --check-prefix=REPORT
// RUN: shoalc %s -o %t/f --stats %t/stats.json --save-temps %t/temps
// RUN: FileCheck %s --check-prefix=STATS < %t/stats.json
// RUN: ls %t/f %t/temps/program.mlir %t/temps/program.ll %t/temps/program.o %t/temps/kernels.ll %t/temps/kernels.o
// RUN: shoalc %s --emit=shared -o %t/f.so
// The bytes are read, not loaded: the library of a sanitizer build wants its runtime in the process from the beginning.
// RUN: %python -c "import json, re; print(json.loads(re.search(rb'\{\"arena_bytes\"[^\0]*', open('%t/f.so', 'rb').read())[0])['inputs'])" | FileCheck %s --check-prefix=METADATA

// REPORT: program f: 4 devices
// REPORT-NEXT: input x : tensor<8x6xf32>, on a device tensor<2x6xf32>
// REPORT-NEXT: output result0 : tensor<f32>
// REPORT-NEXT: collectives: 1, 6 bytes sent by a device
// REPORT-NEXT: to start them takes longer than to send that: as long as 4,000 bytes
// REPORT-NEXT: all_reduce {"x"} in groups of 4: 6 bytes
// REPORT: the sum is partial
// REPORT: memory: {{.*}} inputs and outputs 52

// All that the contract names.
// STATS-DAG: "bytes_sent_per_device": {
// STATS-DAG: "all_reduce": 6
// STATS-DAG: "collectives": {
// STATS-DAG: "all_reduce": 1
// STATS-DAG: "devices": 4
// STATS-DAG: "peak_bytes_per_device": {{[0-9]+}}
// STATS-DAG: "flops_per_device": {{[0-9]+}}
// STATS-DAG: "codegen": {{[0-9]}}
// STATS-DAG: "reason": "the sum is partial"

// METADATA: 'dims': {{\[\[}}{'axis': 0, 'pre': 1, 'size': 4}], []]
// METADATA-SAME: 'dtype': 'f32', 'local_shape': [2, 6], 'mesh': 0, 'name': 'x', 'shape': [8, 6]

shoal.mesh @mesh = <["x" = 4]>
func.func @f(%x: tensor<2x6xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>, shoal.global_type = tensor<8x6xf32>})
    -> tensor<f32> attributes {shoal.spmd} {
  %0 = shoal.reduce sum %x dims = [0, 1] : tensor<2x6xf32> -> tensor<f32>
  %1 = spmd.all_reduce sum @mesh {"x"} %0 {why = "the sum is partial"} : tensor<f32>
  return %1 : tensor<f32>
}

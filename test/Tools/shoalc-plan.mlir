// --plan chooses the mesh, and how arguments lie over it, of a program that says
// neither; what it writes is the program as it was, annotated.

// RUN: shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 -o %t.mlir | FileCheck %s --check-prefix=TABLE
// RUN: FileCheck %s --check-prefix=WRITTEN < %t.mlir
// RUN: shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 -o - 2>&1 | FileCheck %s --check-prefixes=TABLE,WRITTEN

// What is compiled of it is the plan, and none is cheaper.
// RUN: shoalc %t.mlir --machine=%shoal_src_root/machines/dgx-h100.toml --certify --emit=summary -o - 2>&1 | FileCheck %s --check-prefix=COMPILED

// A memory in which the weights have no place whole: they are gathered, or their
// products summed.
// RUN: shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 --memory-limit=6MB -o - 2>/dev/null | FileCheck %s --check-prefix=LIMITED

// The program's own mesh is kept, and its annotations hold.
// RUN: shoalc %t.mlir --plan --machine=%shoal_src_root/machines/dgx-h100.toml | FileCheck %s --check-prefix=OWN

// RUN: not shoalc %s --plan --devices=8 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 --fix-mesh=2x3 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 --fix-mesh=two 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 --max-axes=9 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: not shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 --memory-limit=1kB 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not shoalc %s --plan --machine=%shoal_src_root/machines/dgx-h100.toml --devices=8 --stats=%t.json 2>&1 | FileCheck %s --check-prefix=STATS

// RUN: not shoalc %s --devices=8 --emit=summary -o - 2>&1 | FileCheck %s --check-prefix=ALONE

// TABLE: plans for 8 devices of dgx-h100
// TABLE:  1  "x" = 8 {{ *[0-9.]+ us +[0-9.,]+ (GB|bytes)}}
// TABLE-NEXT: none over this mesh is faster
// TABLE:  2

// WRITTEN: shoal.mesh @mesh = <["x" = 8]>
// WRITTEN: func.func @f(%arg0: tensor<4096x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>}
// WRITTEN-SAME: tensor<512x4096xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>}
// WRITTEN-NOT: sharding_constraint

// COMPILED: none cost less
// COMPILED: collectives: 0

// LIMITED: func.func @f(
// LIMITED-SAME: #shoal.sharding<@mesh, [{{.*}}"{{.*}}]>}{{.*}}tensor<512x4096xf32> {shoal.sharding = #shoal.sharding<@mesh, [{{.*}}"

// OWN: 1  "x" = 8
// OWN-NOT: {{^}} 2

// MACHINE: error: plan: expected a machine to plan for: --machine=machine.toml
// DEVICES: error: plan: the program has no mesh: expected a number of devices of at least 1 but got 0
// SHAPE: error: plan: the mesh's axes have 6 devices together, but 8 are planned for
// TEXT: error: fix-mesh: expected sizes of axes such as 2x8 but got "two"
// AXES: error: max-axes: expected 1 to 4 but got 9
// MEMORY: error: plan: no shardings of arguments and results were found that fit 1,000 bytes of a device
// MEMORY: note: argument 0 is the largest, of 8,388,608 bytes
// ALONE: error: devices: expected --plan, too
// STATS: error: plan: statistics are of a program that is compiled: compile what --plan writes

func.func @f(%x: tensor<4096x512xf32>, %w: tensor<512x4096xf32>, %v: tensor<4096x512xf32>) -> tensor<4096x512xf32> {
  %h = shoal.einsum "BI,IJ->BJ" %x, %w : (tensor<4096x512xf32>, tensor<512x4096xf32>) -> tensor<4096x4096xf32>
  %t = math.tanh %h : tensor<4096x4096xf32>
  %y = shoal.einsum "BJ,JI->BI" %t, %v : (tensor<4096x4096xf32>, tensor<4096x512xf32>) -> tensor<4096x512xf32>
  return %y : tensor<4096x512xf32>
}

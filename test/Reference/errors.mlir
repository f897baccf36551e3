// One clear line for everything a user can get wrong, and exit code 1.

// RUN: rm -rf %t && split-file %s %t
// RUN: not shoal-run %t/program.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: shoal-run: error: input "x" of type tensor<2x3xf32> is missing: give --input x=FILE.npy or --random-inputs=SEED
// RUN: not shoal-run %t/program.mlir --input z=%t/x.npy 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --input z={{.*}}x.npy: no argument is named "z", the program has x, arg1
// RUN: not shoal-run %t/program.mlir --input x 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: --input x: expected NAME=FILE.npy
// RUN: not shoal-run %t/program.mlir --input x=a.npy --input x=b.npy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --input x=b.npy: "x" is given twice
// RUN: not shoal-run %t/program.mlir --input x=%t/none.npy 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: error: input "x": {{.*}}none.npy: cannot open: No such file or directory
// RUN: not shoal-run %t/program.mlir --input x=%t/program.mlir 2>&1 | FileCheck %s --check-prefix=NOTNPY
// NOTNPY: error: input "x": {{.*}}program.mlir: not a .npy file
// RUN: shoal-run %t/program.mlir --random-inputs=1 --output-dir %t/out
// RUN: not shoal-run %t/program.mlir --random-inputs=1 --input x=%t/out/t.npy 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: input "x": {{.*}}t.npy: shape is 3x2, expected 2x3
// RUN: not shoal-run %t/program.mlir --random-inputs=1 --input x=%t/out/half.npy 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: input "x": {{.*}}half.npy: element type is '<f2', expected f32
// RUN: not shoal-run %t/program.mlir --random-inputs=1 --output-dir %t/program.mlir/out 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: --output-dir {{.*}}program.mlir/out: Not a directory
// RUN: not shoal-run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NOPROGRAM
// NOPROGRAM: error: cannot open input file '{{.*}}none.mlir': No such file or directory
// RUN: not shoal-run %t/several.mlir 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: error: the module has several functions: choose one of @f, @g with --entry
// RUN: not shoal-run %t/several.mlir --entry=h 2>&1 | FileCheck %s --check-prefix=NOENTRY
// NOENTRY: error: no function @h, the module has @f, @g
// RUN: not shoal-run %t/empty.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: empty.mlir:1:1: error: @external is declared without a body
// RUN: not shoal-run %t/program.mlir --devices=2 2>&1 | FileCheck %s --check-prefix=NOMESH
// NOMESH: error: the program has no shoal.mesh to partition it for
// RUN: not shoal-run %t/disagree.mlir --devices=2 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: error: --devices=2: mesh @mesh has 4 devices
// RUN: not shoal-run %t/disagree.mlir 2>&1 | FileCheck %s --check-prefix=DISAGREE
// DISAGREE: disagree.mlir:2:1: error: result 0: devices 1 and 3 hold different copies of one element
// RUN: not shoal-run %t/disagree.mlir --compare 2>&1 | FileCheck %s --check-prefix=COMPARE
// COMPARE: error: --compare: @main is a per-device program, its global one is not known
// RUN: not shoal-run %t/dynamic.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: dynamic.mlir:1:1: error: argument 0: type 'tensor<?xf32>' is not a tensor of static shape
// RUN: not shoal-run %t/names.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=NAMES
// NAMES: names.mlir:1:1: error: argument 1: has the name "arg1" of argument 0
// RUN: not shoal-run %t/unknown-op.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=OP
// OP: unknown-op.mlir:2:8: error: 'tensor.from_elements' op has no meaning in the reference interpreter
// RUN: not shoal-run %t/recursion.mlir 2>&1 | FileCheck %s --check-prefix=RECURSION
// RECURSION: recursion.mlir:2:3: error: 'func.call' op calls @main, which is still running
// RUN: not shoal-run %t/local-shape.mlir --random-inputs=1 2>&1 | FileCheck %s --check-prefix=LOCAL
// LOCAL: local-shape.mlir:2:1: error: argument 0 dim 0: 5 rows over 4 devices make shards of 2 rows but the local size is 3
// RUN: not shoal-run %t/partial.mlir 2>&1 | FileCheck %s --check-prefix=PARTIAL
// PARTIAL: partial.mlir:2:1: error: result 0: is a partial sum
// RUN: not shoal-run %t/huge.mlir 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: error: result 0: type 'tensor<4294967296x4294967296xf32>' is not a tensor of static shape, of a supported element type and of at most 2^40 elements
// RUN: not shoal-run %t/mesh-sizes.mlir 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: mesh-sizes.mlir:4:8: error: mesh @small has 2 devices but the program runs on 4
// SIZES: mesh-sizes.mlir:2:1: note: the mesh is here

//--- program.mlir
func.func @main(%x: tensor<2x3xf32> {shoal.name = "x"}, %y: tensor<i32>)
    -> (tensor<3x2xf32> {shoal.name = "t"}, tensor<2x3xf16> {shoal.name = "half"}) {
  %t = shoal.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %half = arith.truncf %x : tensor<2x3xf32> to tensor<2x3xf16>
  return %t, %half : tensor<3x2xf32>, tensor<2x3xf16>
}
//--- several.mlir
func.func @f() { return }
func.func @g() { return }
func.func private @external()
//--- empty.mlir
func.func private @external()
//--- disagree.mlir
shoal.mesh @mesh = <["x" = 2, "y" = 2]>
func.func @main() -> (tensor<1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>, shoal.global_type = tensor<2xi32>}) attributes {shoal.spmd} {
  %i = spmd.axis_index @mesh {"x"} : tensor<i32>
  %j = spmd.axis_index @mesh {"y"} : tensor<i32>
  %k = arith.muli %i, %j : tensor<i32>
  %r = shoal.reshape %k : tensor<i32> -> tensor<1xi32>
  return %r : tensor<1xi32>
}
//--- dynamic.mlir
func.func @main(%x: tensor<?xf32>) { return }
//--- names.mlir
func.func @main(%x: tensor<f32> {shoal.name = "arg1"}, %y: tensor<f32>) { return }
//--- unknown-op.mlir
func.func @main(%x: f32) -> tensor<1xf32> {
  %0 = tensor.from_elements %x : tensor<1xf32>
  return %0 : tensor<1xf32>
}
//--- recursion.mlir
func.func @main() {
  call @main() : () -> ()
  return
}
//--- local-shape.mlir
shoal.mesh @mesh = <["x" = 4]>
func.func @main(%x: tensor<3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>, shoal.global_type = tensor<5xf32>}) attributes {shoal.spmd} { return }
//--- partial.mlir
shoal.mesh @mesh = <["x" = 4]>
func.func @main() -> (tensor<f32> {shoal.sharding = #shoal.sharding<@mesh, [], partial = {"x"}>}) attributes {shoal.spmd} {
  %0 = arith.constant dense<1.0> : tensor<f32>
  return %0 : tensor<f32>
}
//--- huge.mlir
func.func @main() -> tensor<4294967296x4294967296xf32> {
  %0 = tensor.empty() : tensor<4294967296x4294967296xf32>
  return %0 : tensor<4294967296x4294967296xf32>
}
//--- mesh-sizes.mlir
shoal.mesh @mesh = <["x" = 4]>
shoal.mesh @small = <["x" = 2]>
func.func @main() attributes {shoal.spmd} {
  %0 = spmd.axis_index @small {"x"} : tensor<i32>
  return
}

// REQUIRES: mpi, shoalc
// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-opt %t/split.mlir --shoal-partition | FileCheck %s --check-prefix=LOCAL
// RUN: shoal-run %t/split.mlir --random-inputs=3 --compare | FileCheck %s

// Batches of six over four devices: each has the matrices that begin with its
// own, two of them none but zeros. The same numbers come of the whole batch, of
// its shards and of an executable.
// LOCAL-NOT: = spmd.{{all|coll|exch|halo|ragged|reduce}}
// LOCAL-COUNT-8: shoal.custom_call "shoal_lapack_{{.*}}(tensor<2x
// LOCAL-NOT: = spmd.{{all|coll|exch|halo|ragged|reduce}}
// CHECK-NOT: too far apart
// CHECK: eigenvalues: {{.*}}: ok

// RUN: shoalc %t/split.mlir -o %t/split
// RUN: %mpirun -n 4 %t/split --random-inputs=3 --output-dir %t/actual
// RUN: shoal-run %t/split.mlir --random-inputs=3 --devices=4 --output-dir=%t/expected
// RUN: cmp %t/actual/lu.npy %t/expected/lu.npy
// RUN: cmp %t/actual/pivots.npy %t/expected/pivots.npy
// RUN: cmp %t/actual/q.npy %t/expected/q.npy
// RUN: cmp %t/actual/vectors.npy %t/expected/vectors.npy
// RUN: cmp %t/actual/u.npy %t/expected/u.npy
// RUN: cmp %t/actual/eigenvalues.npy %t/expected/eigenvalues.npy
// RUN: cmp %t/actual/factor.npy %t/expected/factor.npy
// RUN: cmp %t/actual/solution.npy %t/expected/solution.npy

// What goes wrong is said.
// RUN: not shoal-run %t/sizes.mlir --random-inputs=3 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: sizes.mlir:2:10: error: 'shoal.custom_call' op "shoal_lapack_getrf" returned 1
// RUN: not shoal-run %t/letters.mlir --random-inputs=3 2>&1 | FileCheck %s --check-prefix=LETTERS
// LETTERS: letters.mlir:2:10: error: 'shoal.custom_call' op "shoal_lapack_syevd" returned 1
// RUN: not shoal-run %t/name.mlir --random-inputs=3 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: name.mlir:2:8: error: 'shoal.custom_call' op "shoal_lapack_none" returned 1

//--- split.mlir
shoal.mesh @mesh = <["x" = 4]>

#rows = #shoal.sharding<@mesh, [{"x"}, {}, {}]>
#vectors = #shoal.sharding<@mesh, [{"x"}, {}]>
#numbers = #shoal.sharding<@mesh, [{"x"}]>

func.func @main(%a: tensor<6x4x4xf32> {shoal.name = "a", shoal.sharding = #rows},
                %b: tensor<6x4x4xf32> {shoal.name = "b", shoal.sharding = #rows},
                %wide: tensor<6x3x5xf64> {shoal.name = "wide", shoal.sharding = #rows})
    -> (tensor<6x4x4xf32> {shoal.name = "lu", shoal.sharding = #rows},
        tensor<6x4xi32> {shoal.name = "pivots", shoal.sharding = #vectors},
        tensor<6x4x4xf32> {shoal.name = "q", shoal.sharding = #rows},
        tensor<6x4x4xf32> {shoal.name = "vectors", shoal.sharding = #rows},
        tensor<6x3x3xf64> {shoal.name = "u", shoal.sharding = #rows},
        tensor<6x4xf32> {shoal.name = "eigenvalues", shoal.sharding = #vectors},
        tensor<6x4x4xf32> {shoal.name = "factor", shoal.sharding = #rows},
        tensor<6x4x4xf32> {shoal.name = "solution", shoal.sharding = #rows}) {
  %lu:3 = shoal.custom_call "shoal_lapack_getrf"(%a) {rule = "b..->b..,b.,b", padded = "b"}
    : (tensor<6x4x4xf32>) -> (tensor<6x4x4xf32>, tensor<6x4xi32>, tensor<6xi32>)
  %r:2 = shoal.custom_call "shoal_lapack_geqrf"(%a) {rule = "b..->b..,b.", padded = "b"}
    : (tensor<6x4x4xf32>) -> (tensor<6x4x4xf32>, tensor<6x4xf32>)
  %q = shoal.custom_call "shoal_lapack_orgqr"(%r#0, %r#1) {rule = "b..,b.->b..", padded = "b"}
    : (tensor<6x4x4xf32>, tensor<6x4xf32>) -> tensor<6x4x4xf32>
  %h:3 = shoal.custom_call "shoal_lapack_syevd"(%a) {rule = "b..->b..,b.,b", padded = "b", config = "L"}
    : (tensor<6x4x4xf32>) -> (tensor<6x4x4xf32>, tensor<6x4xf32>, tensor<6xi32>)
  %s:4 = shoal.custom_call "shoal_lapack_gesdd"(%wide) {rule = "b..->b.,b..,b..,b", padded = "b", config = "S"}
    : (tensor<6x3x5xf64>) -> (tensor<6x3xf64>, tensor<6x3x3xf64>, tensor<6x3x5xf64>, tensor<6xi32>)
  %e:3 = shoal.custom_call "shoal_lapack_geev"(%a) {rule = "b..->b.,b.,b", padded = "b", config = "NN"}
    : (tensor<6x4x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6xi32>)
  // Complex numbers are two tensors.
  %c:3 = shoal.custom_call "shoal_lapack_potrf"(%a, %b) {rule = "b..,b..->b..,b..,b", padded = "b", config = "U"}
    : (tensor<6x4x4xf32>, tensor<6x4x4xf32>) -> (tensor<6x4x4xf32>, tensor<6x4x4xf32>, tensor<6xi32>)
  %x:2 = shoal.custom_call "shoal_lapack_trsm"(%a, %b, %b, %a) {rule = "b..,b..,b..,b..->b..,b..", padded = "b", config = "LLNU"}
    : (tensor<6x4x4xf32>, tensor<6x4x4xf32>, tensor<6x4x4xf32>, tensor<6x4x4xf32>) -> (tensor<6x4x4xf32>, tensor<6x4x4xf32>)
  return %lu#0, %lu#1, %q, %h#0, %s#1, %e#0, %c#0, %x#0 : tensor<6x4x4xf32>, tensor<6x4xi32>, tensor<6x4x4xf32>,
    tensor<6x4x4xf32>, tensor<6x3x3xf64>, tensor<6x4xf32>, tensor<6x4x4xf32>, tensor<6x4x4xf32>
}

//--- sizes.mlir
func.func @main(%a: tensor<4x5xf32> {shoal.name = "a"}) -> (tensor<i32> {shoal.name = "info"}) {
  %0:3 = shoal.custom_call "shoal_lapack_getrf"(%a) {rule = "..->..,.,"}
    : (tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<5xi32>, tensor<i32>)
  return %0#2 : tensor<i32>
}

//--- letters.mlir
func.func @main(%a: tensor<4x4xf32> {shoal.name = "a"}) -> (tensor<i32> {shoal.name = "info"}) {
  %0:3 = shoal.custom_call "shoal_lapack_syevd"(%a) {rule = "..->..,.,", config = "X"}
    : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<i32>)
  return %0#2 : tensor<i32>
}

//--- name.mlir
func.func @main(%a: tensor<4x4xf32> {shoal.name = "a"}) -> (tensor<4x4xf32> {shoal.name = "r"}) {
  %0 = shoal.custom_call "shoal_lapack_none"(%a) {rule = "..->.."} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

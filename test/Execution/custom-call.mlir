// REQUIRES: mpi, shoalc
// RUN: rm -rf %t && split-file %s %t
// RUN: %cxx -x c -fPIC -shared -I %shoal_src_root/include %t/kernels.c -o %t/libkernels.so
// RUN: shoal-run %t/rule.mlir --custom-calls=%t/libkernels.so --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/rule.mlir --shoal-partition | FileCheck %s --check-prefix=LOCAL
// RUN: shoal-run %t/no-rule.mlir --custom-calls=%t/libkernels.so --random-inputs=3 --compare 2>&1 | FileCheck %s --check-prefixes=WARN,CHECK

// WARN: no-rule.mlir:6:19: warning: 'shoal.custom_call' op has no rule: every device holds all its operands and results, 872 bytes, of which 288 are gathered for it

// A function of the user's in C: on one device, on the shards of four in the
// interpreter and as an executable.
// CHECK: y: {{.*}}: ok

// RUN: %cxx -x c -c -I %shoal_src_root/include %t/kernels.c -o %t/kernels.o
// RUN: shoalc %t/rule.mlir -o %t/rule --link %t/kernels.o
// RUN: %mpirun -n 4 %t/rule --random-inputs=3 --output-dir %t/actual
// RUN: shoal-run %t/rule.mlir --custom-calls=%t/libkernels.so --random-inputs=3 --devices=4 --output-dir=%t/expected
// RUN: cmp %t/actual/y.npy %t/expected/y.npy

// Rows are split, and so is the sum: results are added up.
// LOCAL: shoal.custom_call "weighted_product"{{.*}} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
// LOCAL: spmd.all_reduce sum @mesh {"b"}

// Rows and the sum do not divide: zeros past the end add nothing.
// RUN: shoal-run %t/padded.mlir --custom-calls=%t/libkernels.so --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/padded.mlir --shoal-partition | FileCheck %s --check-prefix=PADDED
// RUN: shoalc %t/padded.mlir -o %t/padded --link %t/kernels.o
// RUN: %mpirun -n 4 %t/padded --random-inputs=3 --output-dir %t/actual
// RUN: shoal-run %t/padded.mlir --custom-calls=%t/libkernels.so --random-inputs=3 --devices=4 --output-dir=%t/expected
// RUN: cmp %t/actual/y.npy %t/expected/y.npy
// PADDED: arith.select {{.*}} : tensor<4x7xi1>, tensor<4x7xf32>
// PADDED: arith.select {{.*}} : tensor<7x6xi1>, tensor<7x6xf32>
// PADDED: shoal.custom_call "weighted_product"{{.*}} : (tensor<4x7xf32>, tensor<7x6xf32>) -> tensor<4x6xf32>
// PADDED: spmd.all_reduce sum @mesh {"b"}

// What goes wrong is said.
// RUN: not shoal-run %t/rule.mlir --random-inputs=3 2>&1 | FileCheck %s --check-prefix=NO-LIBRARY
// NO-LIBRARY: error: 'shoal.custom_call' op no library has a function "weighted_product": shoal-run --custom-calls names libraries
// RUN: not shoal-run %t/rule.mlir --custom-calls=%t/missing.so --random-inputs=3 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: --custom-calls: cannot load {{.*}}missing.so
// RUN: not shoalc %t/rule.mlir -o %t/unlinked 2>&1 | FileCheck %s --check-prefix=UNLINKED
// UNLINKED: error: linking failed
// UNLINKED: undefined {{(reference to `|symbol: )}}weighted_product
// RUN: not shoalc %t/rule.mlir -o %t/unlinked --link %t/missing.o 2>&1 | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: error: --link: there is no file {{.*}}missing.o
// RUN: not shoalc %t/clash.mlir -o %t/clash 2>&1 | FileCheck %s --check-prefix=CLASH
// CLASH: error: custom_call "main": the program has something else of this name
// RUN: not shoal-run %t/fails.mlir --custom-calls=%t/libkernels.so --random-inputs=3 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: error: 'shoal.custom_call' op "give_up" returned 7
// RUN: shoalc %t/fails.mlir -o %t/fails --link %t/kernels.o
// RUN: not %mpirun -n 2 %t/fails --random-inputs=3 2>&1 | FileCheck %s --check-prefix=FAILED
// FAILED: custom_call "give_up" returned 7
// RUN: not shoalc %t/no-rule.mlir -o %t/large --max-replicated-bytes=100 --link %t/kernels.o 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: error: {{.*}}would be gathered whole on every device: 384 bytes are more than --max-replicated-bytes=100, and no annotation asks for it
// LARGE: note: it is needed whole for operand 0 of shoal.custom_call

//--- no-rule.mlir

shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x6xf32>) -> (tensor<8x6xf32> {shoal.name = "y"}) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"a"}, {"b"}]> : tensor<8x12xf32>
  %ws = shoal.sharding_constraint %w <@mesh, [{}, {}]> : tensor<12x6xf32>
  %y, %positive = shoal.custom_call "weighted_product"(%xs, %ws) {config = "2"} : (tensor<8x12xf32>, tensor<12x6xf32>) -> (tensor<8x6xf32>, tensor<8xi1>)
  return %y : tensor<8x6xf32>
}

//--- rule.mlir

shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x6xf32>) -> (tensor<8x6xf32> {shoal.name = "y"}) {
  %xs = shoal.sharding_constraint %x <@mesh, [{"a"}, {"b"}]> : tensor<8x12xf32>
  %ws = shoal.sharding_constraint %w <@mesh, [{"b"}, {}]> : tensor<12x6xf32>
  %y = shoal.custom_call "weighted_product"(%xs, %ws) {rule = "ik,kj->ij", sums = "k", config = "2"} : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %ys = shoal.sharding_constraint %y <@mesh, [{"a"}, {}]> : tensor<8x6xf32>
  return %ys : tensor<8x6xf32>
}

//--- padded.mlir

shoal.mesh @mesh = <["a" = 2, "b" = 2]>
func.func @main(%x: tensor<7x13xf32>, %w: tensor<13x6xf32>) -> (tensor<7x6xf32> {shoal.name = "y"}) {
  %one = arith.constant dense<1.0> : tensor<7x13xf32>
  %e = arith.addf %x, %one : tensor<7x13xf32>
  %xs = shoal.sharding_constraint %e <@mesh, [{"a"}, {"b"}]> : tensor<7x13xf32>
  %v = arith.addf %w, %w : tensor<13x6xf32>
  %ws = shoal.sharding_constraint %v <@mesh, [{"b"}, {}]> : tensor<13x6xf32>
  %y = shoal.custom_call "weighted_product"(%xs, %ws) {rule = "ik,kj->ij", sums = "k", padded = "ik", config = "2"} : (tensor<7x13xf32>, tensor<13x6xf32>) -> tensor<7x6xf32>
  %ys = shoal.sharding_constraint %y <@mesh, [{"a"}, {}]> : tensor<7x6xf32>
  return %ys : tensor<7x6xf32>
}

//--- fails.mlir

shoal.mesh @mesh = <["a" = 2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = shoal.custom_call "give_up"(%x) {rule = "i->i"} : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

//--- clash.mlir

shoal.mesh @mesh = <["a" = 2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = shoal.custom_call "main"(%x) {rule = "i->i"} : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

//--- kernels.c

#include "shoal/Runtime/CustomCall.h"
#include <stdlib.h>

// The product of two matrices times the number in `config`; which of its rows
// have a positive sum, where a second result asks for it.
int weighted_product(const shoal_custom_call *call) {
  if (call->num_operands != 2 || call->operands[0].type != SHOAL_RT_F32 ||
      call->operands[0].rank != 2)
    return 1;
  int64_t rows = call->operands[0].shape[0];
  int64_t inner = call->operands[0].shape[1];
  int64_t columns = call->operands[1].shape[1];
  const float *x = call->operands[0].data, *w = call->operands[1].data;
  float *y = call->results[0].data, weight = strtof(call->config, NULL);
  for (int64_t i = 0; i < rows; ++i) {
    float total = 0;
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += x[i * inner + k] * w[k * columns + j];
      y[i * columns + j] = weight * sum;
      total += sum;
    }
    if (call->num_results > 1)
      ((char *)call->results[1].data)[i] = total > 0;
  }
  return 0;
}

int give_up(const shoal_custom_call *call) { return call ? 7 : 0; }

// REQUIRES: mpi, shoalc
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/in.mlir
// RUN: shoal-run %t/in.mlir --devices=0 --random-inputs=3 | FileCheck %s --match-full-lines
// RUN: shoal-run %t/in.mlir --devices=4 --random-inputs=3 | FileCheck %s --match-full-lines
// RUN: shoalc %t/in.mlir -o %t/program
// RUN: %mpirun -n 4 %t/program --random-inputs=3 > %t/out
// RUN: FileCheck %s --match-full-lines < %t/out
// RUN: grep -c "trip" %t/out | FileCheck %s --check-prefix=COUNT

// One device prints for all, in the order of the program, as often as loops and
// branches run: on one device, on four, and as an executable.
// COUNT: 3

// CHECK: begin: [0 1 2 3 4 5 6 7], sum 28.000, {braces}
// CHECK-NEXT: trip 0 of True, 4294967295
// CHECK-NEXT: even 0
// CHECK-NEXT: trip 1 of True, 4294967295
// CHECK-NEXT: trip 2 of True, 4294967295
// CHECK-NEXT: even 2
// CHECK-NEXT: {{\[\[}}0. 0.5 1. 1.5]
// CHECK-NEXT: {{ \[}}2. 2.5 3. 3.5]]
shoal.mesh @mesh = <["d" = 4]>
func.func @main(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>}) -> tensor<i32> {
  %i = shoal.iota dim = 0 : tensor<8xi32>
  %split = shoal.sharding_constraint %i <@mesh, [{"d"}]> : tensor<8xi32>
  %f = arith.sitofp %split : tensor<8xi32> to tensor<8xf32>
  %s = shoal.reduce sum %f dims = [0] : tensor<8xf32> -> tensor<f32>
  shoal.print "begin: {0}, sum {1:.3f}, {{braces}}"(%split, %s) : (tensor<8xi32>, tensor<f32>) -> ()
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %two = arith.constant dense<2> : tensor<i32>
  %three = arith.constant dense<3> : tensor<i32>
  %all = arith.constant dense<-1> : tensor<i32>
  %n = shoal.while (%k = %zero) : tensor<i32> cond {
    %more = arith.cmpi slt, %k, %three : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %yes = arith.cmpi sge, %k, %zero : tensor<i32>
    shoal.print "trip {0} of {1}, {2}"(%k, %yes, %all) {unsigned_inputs = array<i64: 2>} : (tensor<i32>, tensor<i1>, tensor<i32>) -> ()
    %rest = arith.remsi %k, %two : tensor<i32>
    shoal.case %rest : (tensor<i32>) -> () {
      shoal.print "even {0}"(%k) : (tensor<i32>) -> ()
      shoal.yield
    }, {
      shoal.yield
    }
    %next = arith.addi %k, %one : tensor<i32>
    shoal.yield %next : tensor<i32>
  }
  %half = arith.constant dense<0.5> : tensor<8xf32>
  %g = arith.mulf %f, %half : tensor<8xf32>
  %h = shoal.reshape %g : tensor<8xf32> -> tensor<2x4xf32>
  shoal.print "{0}"(%h) : (tensor<2x4xf32>) -> ()
  return %n : tensor<i32>
}

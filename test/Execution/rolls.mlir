// Rolls and shifts of split dimensions, evenly and unevenly, and of whole ones:
// four ranks against the interpreter.
//
// REQUIRES: mpi
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f
// RUN: %mpirun -n 4 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --devices=0 --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

func.func @f(
    %even: tensor<8x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
    %uneven: tensor<7x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>},
    %few: tensor<3x5xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<8x5xi32> {shoal.name = "a"}, tensor<8x5xi32> {shoal.name = "b"},
        tensor<7x5xi32> {shoal.name = "c"}, tensor<3x5xi32> {shoal.name = "d"},
        tensor<8x5xi32> {shoal.name = "e"}, tensor<8x5xi32> {shoal.name = "s"},
        tensor<7x5xi32> {shoal.name = "u"}, tensor<7x5xi32> {shoal.name = "v"}) {
  %zero = arith.constant dense<0> : tensor<i32>
  %a = shoal.roll %even dim = 0 shift = 1 : tensor<8x5xi32>
  %b = shoal.roll %even dim = 0 shift = 5 : tensor<8x5xi32>
  %c = shoal.roll %uneven dim = 0 shift = 4 : tensor<7x5xi32>
  %d = shoal.roll %few dim = 0 shift = 2 : tensor<3x5xi32>
  %e = shoal.roll %even dim = 1 shift = 3 : tensor<8x5xi32>
  %s = shoal.pad %even, %zero low = [3, 0] high = [-3, 0] interior = [0, 0] : tensor<8x5xi32>, tensor<i32> -> tensor<8x5xi32>
  %u = shoal.roll %uneven dim = 0 shift = 1 : tensor<7x5xi32>
  %v = shoal.roll %uneven dim = 0 shift = 6 : tensor<7x5xi32>
  return %a, %b, %c, %d, %e, %s, %u, %v
    : tensor<8x5xi32>, tensor<8x5xi32>, tensor<7x5xi32>, tensor<3x5xi32>, tensor<8x5xi32>, tensor<8x5xi32>,
      tensor<7x5xi32>, tensor<7x5xi32>
}

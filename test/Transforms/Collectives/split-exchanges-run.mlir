// Results of exchanges in two steps are those of one, to the bit: by the
// interpreter, and by eight ranks.
//
// RUN: shoal-opt %s --shoal-partition=machine=%S/Inputs/two-levels.toml -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: shoal-run %s --random-inputs=1 --output-dir=%t.global
// RUN: shoal-run %t.mlir --random-inputs=1 --output-dir=%t.steps
// RUN: diff -r %t.global %t.steps
// RUN: shoalc %s --machine=%S/Inputs/two-levels.toml -o %t.exe
// RUN: %mpirun -n 8 %t.exe --random-inputs=1 --output-dir=%t.ranks
// RUN: diff -r %t.global %t.ranks

// CHECK-COUNT-2: spmd.all_to_all @mesh [{"ep":({{[0-9]}}){{[24]}}} : 3 -> {{[0-9]}}]
// CHECK-COUNT-2: spmd.all_to_all @mesh [{"ep":({{[0-9]}}){{[24]}}} : 0 -> {{[0-9]}}]

shoal.mesh @mesh = <["ep" = 8]>

func.func @main(%x: tensor<16x16x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"ep"}, {}]>},
                %y: tensor<16x16x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {}, {}]>})
    -> (tensor<16x16x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"ep"}, {}, {}]>},
        tensor<16x16x3xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"ep"}, {}]>}) {
  %0 = shoal.sharding_constraint %x <@mesh, [{"ep"}, {}, {}]> : tensor<16x16x3xf32>
  %1 = shoal.sharding_constraint %y <@mesh, [{}, {"ep"}, {}]> : tensor<16x16x3xf32>
  return %0, %1 : tensor<16x16x3xf32>, tensor<16x16x3xf32>
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_PARTITION_PASSES_TD
#define SHOAL_TRANSFORMS_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintFactorRules : Pass<"shoal-print-factor-rules"> {
  let summary = "Prints the factor rule of every op as a remark";
  let description = [{
    For tests and for reading. `even` stands behind factors that only even
    splits suit; factors that an op cannot split follow `needs whole`. Changes
    nothing.

    ```mlir
    func.func @f(%a: tensor<8x4xf32>, %b: tensor<4x16xf32>) -> tensor<8x16xf32> {
      %c = shoal.einsum "IJ,JK->IK" %a, %b : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
      return %c : tensor<8x16xf32>
    }
    ```
    prints
    ```text
    f.mlir:2:8: remark: ([i, j], [j, k]) -> ([i, k]) i=8 j=4 k=16, reduces j:sum, linear in (0) (1)
    ```
  }];
}

def PlanReshards : Pass<"shoal-plan-reshards", "::mlir::ModuleOp"> {
  let summary = "Makes of each reshard a chain of single steps";
  let description = [{
    Assumes what `--shoal-assign` leaves. Each `shoal.reshard` becomes a chain
    of reshards with a step: a collective or a local operation. Chains of one
    value share what they have in common. A partial sum may pass through a
    `shoal.reshape`, between which and another one back its blocks are strided
    ones of the tensor. The program is still a global one and means the same.

    ```mlir
    %1 = shoal.reshard %0 <@mesh, [{"x", "y"}, {} ]> -> <@mesh, [{"x"}, {"y"} ]> : tensor<16x8xf32>
    ```
    becomes
    ```mlir
    %1 = shoal.reshard %0 <@mesh, [{"x", "y"}, {} ]> -> <@mesh, [{"x"}, {"y"} ]> by all_to_all ... : tensor<16x8xf32>
    ```
  }];
}

def Localize : Pass<"shoal-localize", "::mlir::ModuleOp"> {
  let summary = "Turns the global program into the program of one device";
  let description = [{
    Assumes that every value has a sharding, that each op's shardings fit its
    factor rule, and that reshards have steps. Types become the local ones,
    ceil(n / p) in each dimension; reshards become collectives of the `spmd`
    dialect; ops that need it mask their padding or turn global indices into
    local ones (`LocalizeOpInterface`). The function gets the attribute
    `shoal.spmd`, its arguments and results `shoal.global_type`.

    ```mlir
    shoal.mesh @mesh = <["x" = 4]>
    func.func @f(%x: tensor<16x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {} ]>})
        -> (tensor<16x8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {"x"} ]>}) {
      %0 = shoal.reshard %x <@mesh, [{"x"}, {} ]> -> <@mesh, [{}, {"x"} ]> by all_to_all
         {shoal.shardings = [#shoal.sharding<@mesh, [{}, {"x"} ]>]} : tensor<16x8xf32>
      return %0 : tensor<16x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4x8xf32> {shoal.global_type = tensor<16x8xf32>, ...
      %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %x ... : tensor<4x8xf32> -> tensor<16x2xf32>
      return %0 : tensor<16x2xf32>
    ```
  }];
  let dependentDialects = ["::shoal::spmd::SpmdDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // SHOAL_TRANSFORMS_PARTITION_PASSES_TD

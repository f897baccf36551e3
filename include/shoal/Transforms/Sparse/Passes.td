// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TRANSFORMS_SPARSE_PASSES_TD
#define SHOAL_TRANSFORMS_SPARSE_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Transforms/Options/PartitionOptions.td"

def SparsifyEinsums : Pass<"shoal-sparsify-einsums", "::mlir::func::FuncOp"> {
  let summary = "Einsums with one-hot operands become gathers and scatters";
  let description = [{
    TODO
  }];
  let options = [
    PassOptionOf<OneHotGain, "min-gain", "minGain">,
    Option<"explain", "explain", "bool", "false",
           "A remark for each einsum: how it is computed, and why">
  ];
  let dependentDialects = ["::shoal::ShoalDialect", "::mlir::arith::ArithDialect"];
}

#endif // SHOAL_TRANSFORMS_SPARSE_PASSES_TD

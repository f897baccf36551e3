// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_PARTITION_INTERFACES_TD
#define SHOAL_PARTITION_INTERFACES_TD

include "mlir/IR/Interfaces.td"

def FactorRuleOpInterface : OpInterface<"FactorRuleOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    What propagation, assignment and the cost model know of an op: how the
    dimensions of its operands and results relate. See `FactorRule`.
  }];
  let methods = [
    InterfaceMethod<"The op's factors and where each occurs.",
      "::shoal::FactorRule", "getFactorRule">
  ];
}

def LocalizeOpInterface : OpInterface<"LocalizeOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    How an op becomes the op on one device's shards, given operand and result
    shardings that its factor rule allows. The op chooses nothing here: it only
    masks padding where its meaning needs it, and turns global indices into
    local ones.
  }];
  let methods = [
    InterfaceMethod<"Builds the local op; its results go to `results`.",
      "::llvm::LogicalResult", "localize",
      (ins "::shoal::Localizer &":$localizer,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>
  ];
}

def CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    An op that is a shorthand for others. `--shoal-decompose-composites` writes
    them out before propagation, so that no later pass knows of it.
  }];
  let methods = [
    InterfaceMethod<"Values equal to the op's results, built before the op.",
      "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // SHOAL_PARTITION_INTERFACES_TD

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
      "::shoal::FactorRule", "getFactorRule">,
    StaticInterfaceMethod<[{
        Whether the rule alone does not say what a device computes: rows come
        from other devices (windows, gathers, lookups), reductions have a
        combiner of their own, or elements depend on where they stand. Such an
        op needs a model of `LocalizeOpInterface`, without which no program is
        partitioned.
      }],
      "bool", "hasOwnLocalForm", (ins), "", "return false;">
  ];
}

def JoinOpInterface : OpInterface<"JoinOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    An op whose regions, one block each, take and yield tensors: a loop, a
    choice. It has no factor rule; it says which values are the same value at
    different times and so have one sharding. What is between them is up to the
    ops in its regions, which belong to the program like any others and may use
    values from outside.

    Every block argument is in a join together with a result of the op.
  }];
  let methods = [
    InterfaceMethod<"The groups of values that must agree.",
      "::llvm::SmallVector<::shoal::Join>", "getJoins">,
    InterfaceMethod<[{
        Operands, of the op or of its regions' terminators, that every device
        must hold whole and complete: predicates.
      }],
      "::llvm::SmallVector<::mlir::OpOperand *>", "getWholeOperands">,
    InterfaceMethod<[{
        How often the region runs while the op runs once: the count, where the
        op's constants tell, or else a guess that only costs depend on.
      }],
      "double", "getRegionWeight", (ins "unsigned":$region)>
  ];
}

def BoundaryOpInterface : OpInterface<"BoundaryOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    An op whose regions, one block each, are written for one device along some
    axes. Their values have the shapes of shards over these axes; over the
    others the program is partitioned inside as outside.
  }];
  let methods = [
    InterfaceMethod<"The axes along which the regions are written.",
      "::mlir::ArrayAttr", "getManualAxisRefs">,
    InterfaceMethod<"The mesh of these axes.",
      "::mlir::FlatSymbolRefAttr", "getManualMesh">,
    InterfaceMethod<"The values that come in, then those that go out.",
      "::llvm::SmallVector<::shoal::Boundary>", "getBoundaries">
  ];
}

def LocalizeOpInterface : OpInterface<"LocalizeOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    How an op becomes the op on one device's shards, given operand and result
    shardings that its factor rule allows. The op chooses nothing here: it only
    masks padding where its meaning needs it, and turns global indices into
    local ones.

    An op needs a model only where it says `hasOwnLocalForm`. The form of all
    others comes of their factor rule: the padding of dimensions with Reduction
    factors becomes the identity of the reduction in every operand, the op is
    cloned on local types, and what is reduced over a split dimension by
    another kind than a sum is reduced over the devices too. By its rule such an
    op promises that it is unchanged by rows, beyond those that exist, whose
    elements are the identity in each operand that has the factor.
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

def ForwardingOpInterface : OpInterface<"ForwardingOpInterface"> {
  let cppNamespace = "::shoal";
  let description = [{
    An op that may stand between values and computes nothing: each result is the
    operand of its number.
  }];
  let methods = [
    InterfaceMethod<"Whether this op is one.", "bool", "forwardsOperands", (ins), "", "return true;">
  ];
}

#endif // SHOAL_PARTITION_INTERFACES_TD

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The enums that TableGen makes.

#ifndef SHOAL_ENUMS_TD
#define SHOAL_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Shoal_Distribution : I32EnumAttr<"Distribution", "a distribution of random numbers", [
    I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">]> {
  let cppNamespace = "::shoal";
}

def Shoal_ReshardStep : I32EnumAttr<"ReshardStep", "one step of a reshard", [
    I32EnumAttrCase<"Slice", 0, "slice">,
    I32EnumAttrCase<"ToPartial", 1, "to_partial">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"CollectivePermute", 4, "collective_permute">,
    I32EnumAttrCase<"AllReduce", 5, "all_reduce">,
    I32EnumAttrCase<"AllGather", 6, "all_gather">,
    I32EnumAttrCase<"Exchange", 7, "exchange">,
    I32EnumAttrCase<"Relabel", 8, "relabel">]> {
  let cppNamespace = "::shoal";
}

#endif // SHOAL_ENUMS_TD

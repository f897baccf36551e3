// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPMD_ATTRS_TD
#define SPMD_ATTRS_TD

include "shoal/Dialect/Shoal/IR/ShoalAttrs.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::shoal::spmd";
  let summary = "What one device of many does";
  let description = [{
    The per-device program: `shoal` ops on the shapes of one device's shards,
    and the collectives of this dialect. Groups are named by mesh axes, never
    by listed devices, so a program's size does not grow with the devices: the
    devices that differ only in their coordinates on the named axes form a
    group. Every device runs the same collectives in the same order.

    In the drawings a mesh has one axis "x" of size 2, and a row of boxes shows
    what devices 0 and 1 hold.

    `why` says which op and operand asked for the data, and from which sharding
    to which it goes.

    Constraints of every op:
    * (P1) the mesh exists;
    * (P2) it has each axis named, sub-axes divide theirs, and no axis or
      overlapping sub-axes occur twice.
  }];
  let dependentDialects = ["::shoal::ShoalDialect"];
  let useDefaultAttributePrinterParser = 1;
}

class Spmd_Attr<string name, string attrMnemonic> : AttrDef<Spmd_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Spmd_MoveAttr : Spmd_Attr<"Move", "move"> {
  let summary = "Axes that leave one dimension for another";
  let description = [{
    `{"x"} : 0 -> 2`: dimension 0, so far split over x, comes together, and
    dimension 2 is split over x instead.
  }];
  let parameters = (ins "::shoal::AxesAttr":$axes, "int64_t":$source_dim, "int64_t":$target_dim);
  let assemblyFormat = "$axes `:` $source_dim `->` $target_dim";
}

def Spmd_AxesPerDim : TypedArrayAttrBase<Shoal_AxesAttr, "a list of axes per dimension">;
def Spmd_Moves : TypedArrayAttrBase<Spmd_MoveAttr, "a list of moves">;

#endif // SPMD_ATTRS_TD

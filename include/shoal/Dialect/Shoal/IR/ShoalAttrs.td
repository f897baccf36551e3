// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_ATTRS_TD
#define SHOAL_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "shoal/Dialect/Shoal/IR/ShoalDialect.td"
include "shoal/Dialect/Shoal/IR/ShoalEnums.td"

//===----------------------------------------------------------------------===//
// Enumerations; those that are the dialect's own are in ShoalEnums.td
//===----------------------------------------------------------------------===//

// The enum of shoal/Sharding/ReduceKind.h. The attribute is ReduceKindAttr of
// Shoal.h.
def Shoal_ReduceKind : I32EnumAttr<"ReduceKind", "the combiner of a reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::shoal";
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

class Shoal_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Shoal_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Shoal_MeshAxisAttr : Shoal_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "A named mesh axis with its size";
  let parameters = (ins StringRefParameter<"axis name">:$name, "int64_t":$size);
  let assemblyFormat = "$name `=` $size";
}

def Shoal_MeshAttr : Shoal_Attr<"Mesh", "mesh"> {
  let summary = "Named axes over the devices";
  let description = [{
    `<["data" = 2, "expert" = 4]>` has 8 devices. Position `(i, j)` of the mesh,
    row-major, is device `4 * i + j` unless `device_ids` lists another order:
    `<["x" = 4], device_ids = [3, 1, 0, 2]>` puts device 3 at position 0.

    Constraints:
    * (M1) axis names are distinct and not empty, sizes at least 1;
    * (M2) `device_ids`, where given, is a permutation of 0 … devices - 1.
  }];
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes,
                        OptionalArrayRefParameter<"int64_t">:$device_ids);
  let assemblyFormat = [{
    `<` custom<MeshAxes>($axes) (`,` `device_ids` `=` `[` $device_ids^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumDevices() const;
    /// The axis's size; nothing where the mesh has no such axis.
    std::optional<int64_t> getAxisSize(::llvm::StringRef name) const;
  }];
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

def Shoal_AxisRefAttr : Shoal_Attr<"AxisRef", "axis"> {
  let summary = "A mesh axis, or a part of one";
  let description = [{
    `"x"` is the whole axis. `"x":(2)4` is the sub-axis of size 4 of an axis
    whose more major part has size 2 (the notation of Shardy): an axis of size
    16 read as 2 x 4 x 2 has the sub-axes `"x":(1)2`, `"x":(2)4`, `"x":(8)2`.
    A whole axis has `pre_size` = 1 and `size` = 0 in memory.

    Constraints:
    * (X1) the name is not empty; a sub-axis has a `pre_size` of at least 1 and
      a size of at least 2, their product is at most 2^31.
  }];
  let parameters = (ins StringRefParameter<"axis name">:$name,
                        DefaultValuedParameter<"int64_t", "1">:$pre_size,
                        DefaultValuedParameter<"int64_t", "0">:$size);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isWhole() const { return getSize() == 0; }
    /// Number of devices along the (sub-)axis of `mesh`, which must have it.
    int64_t getSizeIn(MeshAttr mesh) const;
  }];
}

def Shoal_AxesAttr : Shoal_Attr<"Axes", "axes"> {
  let summary = "An ordered list of axes, major to minor";
  let description = [{ `{"x", "y":(1)2}` }];
  let parameters = (ins OptionalArrayRefParameter<"AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool empty() const { return getAxes().empty(); }
  }];
}

def Shoal_DimShardingAttr : Shoal_Attr<"DimSharding", "dim"> {
  let summary = "How one dimension of a tensor is split";
  let description = [{
    `{"x", "y"}` splits the dimension over x (major) and y. A trailing `?`
    leaves it open: the compiler may add axes. `p2` behind the brace gives a
    propagation priority (0, the default, goes first), at least 0.
  }];
  let parameters = (ins OptionalArrayRefParameter<"AxisRefAttr">:$axes,
                        DefaultValuedParameter<"bool", "false">:$is_open,
                        DefaultValuedParameter<"int64_t", "0">:$priority);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Shoal_ShardingAttr : Shoal_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor is laid out over a mesh";
  let description = [{
    `<@mesh, [{"x"}, {?} ]>`: dimension 0 is split over axis x, dimension 1 is
    open. Axes named nowhere replicate. `replicated = {"y"}` says that y must
    stay so; `partial = {"z"}` that the devices along z hold addends of the
    value, a sum that is not yet reduced.

    A dimension of size n over p devices has shards of b = ceil(n / p) rows:
    shard i holds rows i * b up to min(n, (i + 1) * b). What lies past the end
    is unspecified, and no op lets it reach a result.

    Constraints:
    * (S1) the mesh exists and has every axis named;
    * (S2) sub-axes divide their axis, and no axis or overlapping sub-axes
      occur twice;
    * (S3) there are as many dimensions as the tensor has;
    * (S4) with `partial` axes the elements add up: not i1 or floats of 8 bits.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                        OptionalArrayRefParameter<"DimShardingAttr">:$dims,
                        OptionalArrayRefParameter<"AxisRefAttr">:$replicated,
                        OptionalArrayRefParameter<"AxisRefAttr">:$partial);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// A sharding of rank `rank` that names no axis.
    static ShardingAttr getReplicated(::mlir::FlatSymbolRefAttr mesh, int64_t rank);
    bool hasOpenDims() const;
    /// Checks (S1)-(S3) for a value of `type`; `emitError` gets the message.
    ::llvm::LogicalResult verifyFor(
        ::mlir::Type type, ::mlir::Operation *symbolTableOp,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
}

#endif // SHOAL_ATTRS_TD

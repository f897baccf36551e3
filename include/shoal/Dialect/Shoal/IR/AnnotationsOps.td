// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Meshes, the annotations, and the reshards they lead to.

#ifndef SHOAL_ANNOTATIONS_OPS_TD
#define SHOAL_ANNOTATIONS_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_MeshOp : Shoal_Op<"mesh", [Symbol]> {
  let summary = "Names the axes of the devices";
  let description = [{
    ```mlir
    shoal.mesh @mesh = <["data" = 2, "expert" = 4]>
    ```
    The mesh of the annotations `split` and `shard`, which name none, is the
    first one of the module. See `#shoal.mesh` for the constraints.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Shoal_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

class Shoal_AnnotationOp<string mnemonic, list<Trait> traits = []>
    : Shoal_Op<mnemonic, [Pure, SameOperandsAndResultType] # traits> {
  let results = (outs Shoal_Tensor:$result);
}

def Shoal_ReplicateOp : Shoal_AnnotationOp<"replicate"> {
  let summary = "Annotation: every device holds the whole tensor";
  let description = [{
    GShard §3.2 `replicate(tensor)`. The identity on values.
    ```mlir
    %wgr = shoal.replicate %wg : tensor<256x8xf32>
    ```
  }];
  let arguments = (ins Shoal_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Shoal_SplitOp : Shoal_AnnotationOp<"split"> {
  let summary = "Annotation: one dimension is split, partition i on device i";
  let description = [{
    GShard §3.2 `split(tensor, split_dimension, num_partitions)`. The identity
    on values. With fewer partitions than devices, partition i is on device i
    and on every further device whose number is i modulo `num_partitions`.
    ```mlir
    %xs = shoal.split %x {dim = 0, num_partitions = 8} : tensor<8x512x256xf32>
    ```
    Constraints:
    * (A1) `dim` is a dimension of the tensor;
    * (A2) `num_partitions` is at least 1 and at most the number of devices,
      which it divides, and is a product of minor (sub-)axes of the mesh.
  }];
  let arguments = (ins Shoal_Tensor:$input, I64Attr:$dim, I64Attr:$num_partitions);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Shoal_ShardOp : Shoal_AnnotationOp<"shard"> {
  let summary = "Annotation: an array of devices, in any order, tiles the tensor";
  let description = [{
    GShard §3.2 `shard(tensor, device_assignment)`. The identity on values. The
    device array has the tensor's rank, or one dimension more; along the extra
    last dimension the tile is replicated. Any device order is legal; one that
    is not the mesh's own costs a collective_permute.
    ```mlir
    // Rows over devices {0,2} / {1,3}; each tile on two devices.
    %y = shoal.shard %x {device_assignment = dense<[[[0, 2]], [[1, 3]]]> : tensor<2x1x2xi64>}
       : tensor<16x4xf32>
    ```
    Constraints:
    * (A3) the array's rank is the tensor's rank or one more;
    * (A4) every device of the mesh occurs exactly once.
  }];
  let arguments = (ins Shoal_Tensor:$input, I64ElementsAttr:$device_assignment);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Shoal_ShardingConstraintOp : Shoal_AnnotationOp<"sharding_constraint"> {
  let summary = "Annotation: a sharding by named axes";
  let description = [{
    The identity on values; here the value has exactly this sharding, and the
    devices along its `partial` axes, and no others, hold addends of it: those
    that they have where it is such a sum, else the value on the first and zero
    on the others. Open dimensions leave the choice to the compiler. The
    annotation says nothing of the ops before and after it.

    With `hint` it only asks: propagation spreads it like any other, and the
    search begins there, but another sharding is chosen where that is cheaper.
    ```mlir
    %y = shoal.sharding_constraint %x <@mesh, [{"data"}, {?} ]> : tensor<16x4xf32>
    %z = shoal.sharding_constraint %y <@mesh, [{}, {"data"} ]> {hint} : tensor<16x4xf32>
    %s = shoal.reduce sum %z dims = [1] : tensor<16x4xf32> -> tensor<16xf32>
    %p = shoal.sharding_constraint %s <@mesh, [{} ], partial = {"data"}> : tensor<16xf32>
    ```
    Constraints:
    * (A5) the sharding is one of the tensor, (S1) to (S4).
  }];
  let arguments = (ins Shoal_Tensor:$input, Shoal_ShardingAttr:$sharding,
                       UnitAttr:$hint);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Shoal_StopGradientOp : Shoal_AnnotationOp<"stop_gradient",
    [DeclareOpInterfaceMethods<CompositeOpInterface>]> {
  let summary = "Annotation: no gradient passes through";
  let description = [{
    The identity on values, of which the gradient is zero: what
    `--shoal-differentiate` finds behind it counts as constant. Nothing later
    knows of it.
    ```mlir
    %y = shoal.stop_gradient %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Shoal_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Shoal_ReshardOp : Shoal_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "Changes the sharding of a value";
  let description = [{
    Inserted by `--shoal-assign` where an op needs its operand in another
    sharding than the one it was made in. The identity on values.
    `--shoal-plan-reshards` replaces it by a chain of reshards that a single
    collective each, named behind `by`, can carry out.
    `why` names the operand that asked for it; `removal` says which annotation
    would do away with it, where `--shoal-assign=removals` was asked to look.
    ```mlir
    %y = shoal.reshard %x <@mesh, [{"x"}, {} ]> -> <@mesh, [{}, {"x"} ]> : tensor<16x4xf32>
    ```
    Constraints:
    * (R1) both shardings are of the tensor's rank and have no open dimension;
    * (R2) the two meshes have the same axes; they may differ in device order.
  }];
  let arguments = (ins Shoal_Tensor:$input, Shoal_ShardingAttr:$source,
                       Shoal_ShardingAttr:$target, OptionalAttr<Shoal_ReshardStep>:$step,
                       OptionalAttr<StrAttr>:$why,
                       OptionalAttr<StrAttr>:$removal);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input $source `->` $target (`by` $step^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SHOAL_ANNOTATIONS_OPS_TD

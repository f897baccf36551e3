// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_MANUAL_OPS_TD
#define SHOAL_MANUAL_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_ShardingArray : TypedArrayAttrBase<Shoal_ShardingAttr, "a list of shardings">;

def Shoal_ManualComputationOp : Shoal_Op<"manual_computation", [
    SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<BoundaryOpInterface>]> {
  let summary = "A region that is written for one device along some axes";
  let description = [{
    Shardy manual_computation. Each operand is split as its `in` sharding says;
    the region sees its shards over the manual axes, and may use collectives of
    `spmd` over them. What it yields are the shards of the results, by their
    `out` shardings. Over all other axes the shapes in the region are whole, and
    its ops are partitioned like any others.
    ```mlir
    func.func @rows(%a: tensor<8x4xf32>) -> tensor<8xf32> {
      %y = shoal.manual_computation @mesh {"x"} (%a) in [#shoal.sharding<@mesh, [{}, {"x"} ]>]
          out [#shoal.sharding<@mesh, [{} ]>] {
      ^body(%part: tensor<8x2xf32>):
        %sum = shoal.reduce sum %part dims = [1] : tensor<8x2xf32> -> tensor<8xf32>
        %all = spmd.all_reduce sum @mesh {"x"} %sum : tensor<8xf32>
        shoal.yield %all : tensor<8xf32>
      } : (tensor<8x4xf32>) -> tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
    A result whose sharding does not name a manual axis is the same on all
    devices along it; the region must see to that, and the interpreter checks it.

    An operand whose sharding is partial over a manual axis comes in as each
    device's addend of it, whichever those are; what the region makes of them
    must not depend on that. A result that is partial over one is the sum of
    what the devices along it yield.

    Regions nest: one in another is written for one device along its own axes
    too, and splits what the outer one's devices have.

    A dimension of size n over p devices has shards of ceil(n / p) rows, in the
    region as elsewhere. Of the rows past the end the region gets zeros, and
    what it makes of them is dropped. Where something else has to fill them,
    `pad` before the region says what.

    Constraints:
    * (M1) the manual axes are distinct (sub-)axes of the mesh, and of those of
      the regions around the op none;
    * (M2) there is a sharding per operand and per result, over that mesh, of
      the tensor (S1) to (S4);
    * (M3) in each dimension manual axes stand before others, and these divide
      the shard over the manual ones; arguments and yielded values have the
      types of the shards over the manual axes;
    * (M4) in the region shardings name no axis that is manual in it or around
      it, and collectives no other, all of the op's mesh.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Shoal_AxesAttr:$manual_axes,
                       Variadic<Shoal_Tensor>:$inputs,
                       Shoal_ShardingArray:$in_shardings,
                       Shoal_ShardingArray:$out_shardings);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $mesh $manual_axes `(` $inputs `)` `in` $in_shardings `out` $out_shardings
    attr-dict-with-keyword $body `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class Shoal_ManualCastOp<string mnemonic> : Shoal_Op<mnemonic, [Pure]> {
  let arguments = (ins Shoal_Tensor:$input, Shoal_ShardingAttr:$sharding);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input $sharding attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Shoal_AutoToManualOp : Shoal_ManualCastOp<"auto_to_manual"> {
  let summary = "Begins a part that is written for one device";
  let description = [{
    GShard's auto_to_manual_spmd_partition. The result is the device's shard of
    the operand. What is computed from it, up to `manual_to_auto`, is written
    for one device, along all axes of the mesh that are not manual yet; it may
    use collectives of `spmd`.
    `--shoal-form-manual-regions` makes a `manual_computation` of such a part.
    ```mlir
    %l = shoal.auto_to_manual %x <@mesh, [{"x"}, {} ]> : tensor<8x4xf32> -> tensor<4x4xf32>
    ```
    Constraints:
    * (A1) the sharding is one of the whole tensor, (S1) to (S3), and has no
      partial axes and no open dimensions;
    * (A2) the result has the shard's type, of ceil(n / p) rows where p devices
      split n; those past the end are zero.
  }];
}

def Shoal_ManualToAutoOp : Shoal_ManualCastOp<"manual_to_auto"> {
  let summary = "Ends a part that is written for one device";
  let description = [{
    GShard's manual_to_auto_spmd_partition, the inverse of `auto_to_manual`: the
    tensor whose shards the devices hold.
    ```mlir
    %y = shoal.manual_to_auto %l <@mesh, [{"x"}, {} ]> : tensor<4x4xf32> -> tensor<8x4xf32>
    ```
    Constraints:
    * (A1) the sharding is one of the whole tensor, (S1) to (S3), and has no
      partial axes and no open dimensions;
    * (A2) the operand has the shard's type, of ceil(n / p) rows where p devices
      split n; those past the end are dropped.
  }];
}

#endif // SHOAL_MANUAL_OPS_TD

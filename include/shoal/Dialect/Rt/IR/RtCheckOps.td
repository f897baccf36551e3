// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What looks at a program's values while it runs. Included by RtOps.td.

#ifndef RT_CHECK_OPS_TD
#define RT_CHECK_OPS_TD

include "shoal/Dialect/Rt/IR/RtBase.td"
include "shoal/Dialect/Rt/IR/RtEnums.td"
include "shoal/Dialect/Shoal/IR/ShoalAttrs.td"

/// A call that only looks.
class Rt_LookingOp<string mnemonic, int numInputs, list<Trait> traits = []>
    : Rt_CallOp<mnemonic,
                "::mlir::MutableOperandRange(getOperation(), " # numInputs # ", 0)", traits> {
  let declarations = [{
    bool doesMoreThanWrite() { return true; }
    ::llvm::StringRef whyNotOnDevice() { return "values are checked in the host's memory"; }
  }];
}

def Rt_CheckOp : Rt_LookingOp<"check", 1, [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Looks whether a value is what it should be";
  let description = [{
    The input, value number `value` of the program, is this device's shard of a
    tensor of `shape`, split as `sharding` says, where devices along the axes
    `varying` may hold other values. Elements past the end of the tensor are not
    looked at.

    With `nan` and `inf` the step ends with an error if an op has made a NaN, or
    an infinity: if one is there and the values that the op was made from, whose
    numbers are `sources`, had none when they were checked. `assumes_nan` and
    `assumes_inf` say so of constants. An infinity that comes of a NaN, or
    that is an input's, is no error; a value that is `joined` of others never is.

    With `replicas` the devices that hold the same shard compare what they hold
    at the end of the step.
    ```mlir
    shoal.mesh @mesh = <["x" = 2]>
    func.func @look(%y: tensor<4x6xf32>) {
      rt.check 3 made "arith.divf" at "model.py:7:3" <@mesh, [{"x"}, {} ]> of [8, 6]
          sources [0, 2] ins(%y : tensor<4x6xf32>) {nan, inf}
      return
    }
    ```
    Constraints:
    * (C1) the mesh is declared and has the axes; the input has the shape of a
      shard;
    * (C2) numbers of values are not negative.
  }];
  let arguments = (ins AnyShaped:$input, I64Attr:$value, Rt_CheckRole:$role, StrAttr:$what,
                       StrAttr:$place, Shoal_ShardingAttr:$sharding, DenseI64ArrayAttr:$shape,
                       OptionalAttr<Shoal_AxesAttr>:$varying, DenseI64ArrayAttr:$sources,
                       UnitAttr:$assumes_nan, UnitAttr:$assumes_inf, UnitAttr:$nan, UnitAttr:$inf,
                       UnitAttr:$replicas);
  let assemblyFormat = [{
    $value $role $what `at` $place $sharding `of` $shape (`varying` $varying^)? `sources` $sources
    `ins` `(` $input `:` type($input) `)` attr-dict (`->` type($results)^)?
  }];
}

def Rt_IterationOp : Rt_LookingOp<"iteration", 0> {
  let summary = "Counts how often a loop has gone round, for messages of checks";
  let description = [{
    `begin` stands in front of a loop that has `depth` loops around it, `next`
    at the beginning of each round, `end` behind the loop.
    ```mlir
    rt.iteration begin 0 at "model.py:3:5"
    ```
    Constraints:
    * (C1) the depth is not negative.
  }];
  let arguments = (ins Rt_IterationEvent:$event, I64Attr:$depth, StrAttr:$place);
  let assemblyFormat = "$event $depth `at` $place attr-dict (`->` type($results)^)?";
}

#endif // RT_CHECK_OPS_TD

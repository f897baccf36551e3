// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_CUSTOM_CALL_OPS_TD
#define SHOAL_CUSTOM_CALL_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_CustomCallOp : Shoal_Op<"custom_call",
    [Pure, DeclareOpInterfaceMethods<ForwardingOpInterface, ["forwardsOperands"]>]> {
  let summary = "A computation that the compiler knows by name alone";
  let description = [{
    StableHLO custom_call: a function of the user's, in C, by the name of the
    target. shoal/Runtime/CustomCall.h has its type and says how it is linked
    (`shoalc --link`) and found by the interpreter (`shoal-run --custom-calls`).
    It gets `config` as text. The targets `Sharding` and `identity` are built
    in: their results are their operands. So are functions of LAPACK, as
    `shoal_lapack_getrf`, on CPUs: shoal/LinearAlgebra/Lapack.h lists them, and
    they report operands that are not theirs.

    `rule` says how the call may be partitioned, as the spec of an einsum does:
    a letter per dimension of each operand and result. A dimension whose letter
    is in operands and results may be split: the call on shards makes the shards
    of the results. So may one of a letter in `sums`: the results are then
    summed over the devices. Others, and those written `.`, are whole on every
    device. Splits are even, so that the function sees no padding, but for
    letters in `padded`: shards of n rows over p devices then have ceil(n / p)
    rows, those past the end zero in operands and dropped of results.
    ```mlir
    %y = shoal.custom_call "my_kernel"(%x, %w) {rule = "bi,ij->bj", sums = "i", config = "fast"}
       : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    ```
    Without a rule all operands and results are whole on every device. The
    partitioner warns of that, with the bytes, and what it gathers for the call
    counts for `--max-replicated-bytes`.

    Constraints:
    * (K1) at least one result; the rule has a part per operand and per result,
      with a letter or `.` per dimension;
    * (K2) no letter occurs twice in one tensor, and all dimensions of a letter
      have one size;
    * (K3) letters of `sums` are in operands and in no result;
    * (K4) an identity has operands and results of the same types;
    * (K5) the target is of letters, digits, `_`, `.` and `$`, and does not begin
      with `shoal_rt_`; `config` is without zero bytes;
    * (K6) letters of `padded` may be split: they are in operands, and in
      results or in `sums`.
  }];
  let arguments = (ins StrAttr:$target, Variadic<Shoal_Tensor>:$inputs,
                       OptionalAttr<StrAttr>:$rule, OptionalAttr<StrAttr>:$sums,
                       OptionalAttr<StrAttr>:$padded,
                       OptionalAttr<StrAttr>:$config);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let assemblyFormat = [{
    $target `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isIdentity() { return forwardsOperands(); }
  }];
}

#endif // SHOAL_CUSTOM_CALL_OPS_TD

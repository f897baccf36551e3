// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums of products.

#ifndef SHOAL_CONTRACTION_OPS_TD
#define SHOAL_CONTRACTION_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_EinsumOp : Shoal_Op<"einsum", [Pure]> {
  let summary = "Einstein summation over one or two operands";
  let description = [{
    `spec` is NumPy's explicit form, `"GSM,ME->GSE"`: one letter a dimension,
    upper and lower case distinct, no ellipsis. A letter of the result that
    stands in both operands is a batch letter, in one a free letter; a letter
    that the result lacks is summed over. A letter that one operand repeats
    takes its diagonal. Sums of floats of 16 and 8 bits are accumulated in f32
    and rounded once, to the element type of the result.
    ```mlir
    %y = shoal.einsum "GSM,ME->GSE" %x, %w
       : (tensor<8x512x256xf32>, tensor<256x8xf32>) -> tensor<8x512x8xf32>
    ```
    Constraints:
    * (E1) the spec is well formed and has as many operands as the op, 1 or 2;
    * (E2) each operand's and the result's rank is its number of letters;
    * (E3) a letter has one size throughout;
    * (E4) each letter of the result stands in an operand, and once in the result;
    * (E5) the operands have one element type, not i1, or each one of the floats
      of 8 bits; the result has it too, or a wider one of the same kind, but no
      floats of 8 bits.
  }];
  let arguments = (ins StrAttr:$spec, Variadic<Shoal_Tensor>:$inputs);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$spec $inputs attr-dict `:` functional-type($inputs, $result)";
  let extraClassDeclaration = [{
    /// The letters of the spec, parsed at each call.
    ::shoal::EinsumSpec getTerms() { return ::shoal::EinsumSpec::of(getSpec()); }
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let hasFolder = 1;
}

class Shoal_RaggedOp<string mnemonic, list<Trait> traits = []>
    : Shoal_Op<mnemonic, !listconcat(traits, [Pure])> {
  let results = (outs Shoal_Tensor:$result);
  let extraClassDeclaration = [{
    /// The letters of the spec, parsed at each call.
    ::shoal::EinsumSpec getTerms() { return ::shoal::EinsumSpec::of(getSpec()); }
  }];
  let hasVerifier = 1;
}

def Shoal_RaggedEinsumOp : Shoal_RaggedOp<"ragged_einsum"> {
  let summary = "An einsum whose rows belong to groups known at run time";
  let description = [{
    `"TM,EMH,E->TH" rows "T"`: the einsum of `lhs`, `rhs` and a mask over the
    third term's letters and the ragged letter, which is one where
    `begins[e] <= t < ends[e]` and zero elsewhere. Row t of the result is thus
    row t of `lhs` times the matrix of its group; a row of no group is zero, one
    of several groups is their sum. Groups may lie in any order, leave gaps and
    be empty; bounds are cut to the rows there are. Only rows of groups are
    multiplied: a grouped matrix product. What is masked out counts as zero even
    where it is NaN.

    The last letter of the third term is the group's, the others are batches of
    groups. Where the result lacks the ragged letter, each group sums its own
    rows, as the gradient of the matrices does: `"TM,TH,E->EMH"`.
    ```mlir
    %y = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %x, %w groups %begins, %ends
       : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<12x5xf32>
    ```
    Constraints:
    * (R1) the spec is well formed and has three terms, of `lhs`, of `rhs` and of
      both bounds; each operand's and the result's rank is its number of letters,
      a letter has one size throughout, and occurs once in a term;
    * (R2) the ragged letter stands in an operand and not in the third term;
      each other letter of the result stands in some term;
    * (R3) the operands have one element type, not i1; the result has it too, or
      a wider one of the same kind; both bounds are i32, or both i64.

    Partitioning: all letters can be split. Where rows are, each device counts
    bounds from its first row; where groups are and the result lacks them, each
    device adds up its groups, and the sums stay partial until they are needed.
  }];
  let arguments = (ins StrAttr:$spec, StrAttr:$rows, Shoal_Tensor:$lhs,
                       Shoal_Tensor:$rhs, Shoal_Tensor:$begins, Shoal_Tensor:$ends);
  let assemblyFormat = [{
    $spec `rows` $rows $lhs `,` $rhs `groups` $begins `,` $ends attr-dict `:`
    functional-type(operands, $result)
  }];
}

def Shoal_RaggedDotOp : Shoal_RaggedOp<"ragged_dot",
    [DeclareOpInterfaceMethods<CompositeOpInterface>]> {
  let summary = "An einsum over groups of consecutive rows, by their sizes";
  let description = [{
    `ragged_einsum` where the groups follow each other from the first row on, as
    in jax.lax.ragged_dot and CHLO ragged_dot: along the last dimension of
    `sizes`, group e has the `sizes[e]` rows behind those of the groups before
    it. Rows behind the last group are zero. Negative sizes have no meaning.
    ```mlir
    %y = shoal.ragged_dot "TM,EMH,E->TH" rows "T" %x, %w sizes %sizes
       : (tensor<12x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<12x5xf32>
    ```
    Constraints: those of `ragged_einsum`, with `sizes` for its bounds.
  }];
  let arguments = (ins StrAttr:$spec, StrAttr:$rows, Shoal_Tensor:$lhs,
                       Shoal_Tensor:$rhs, Shoal_Tensor:$sizes);
  let assemblyFormat = [{
    $spec `rows` $rows $lhs `,` $rhs `sizes` $sizes attr-dict `:`
    functional-type(operands, $result)
  }];
}

#endif // SHOAL_CONTRACTION_OPS_TD

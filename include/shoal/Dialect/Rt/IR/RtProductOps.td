// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products of tensors. Included by RtOps.td.

#ifndef RT_PRODUCT_OPS_TD
#define RT_PRODUCT_OPS_TD

include "shoal/Dialect/Rt/IR/RtBase.td"
include "shoal/Dialect/Rt/IR/RtEnums.td"

def Rt_ProductPlanAttr : Rt_Attr<"ProductPlan", "product_plan"> {
  let summary = "How a product of two tensors is computed";
  let description = [{
    A loop is `[8 : 512, 0, 128]`: 8 steps, from one to the next it is 512
    elements in the lhs, 0 in the rhs and 128 in the output; where a tensor is
    copied, `[8 : 512, 64]` in the tensor and in its copy. The last loop of a
    list is the fastest.

    * `gemm 64x96x128 a [128, 1] b [96, 1] c [96, 1]`: the library multiplies a
      matrix of 64 x 128 with one of 128 x 96. Brackets have the distance from
      one row to the next and that of columns. Around it are loops: `batch` over
      the tensors; `outer` and `summed`, of which the second one adds, over what
      is packed or, if nothing is, the tensors, too. The library is the machine's
      BLAS, or with `gemm onednn 64x96x128 ...` oneDNN, which takes bf16 as it is
      and, where nothing is packed, the loops over products with them.
    * `pack lhs`, `pack rhs`, `unpack output` and loops: for each batch index the
      tensor's part is copied to or from a dense scratch, which the products see.
    * `loops [..] over [..]`: no library; each element of the output, of the
      first loops, is summed over the second ones.
    * `zero`: there is nothing to sum.
    * `prepare lhs [..] over [..]`, in front of either: the operand is summed
      over the second loops, or converted if there are none, into a dense tensor
      of the type that is computed in, which takes its place.
    * `convert`: whole operands are converted to that type, and the output from
      it.
    * `cpu` or `gpu`, in front of all: what it is made for. A GPU's library takes
      narrow floats, and all batches and outer loops in one call.

    Constraints:
    * (P1) a loop has at least one step, and strides of at least 0; what is
      prepared has none in the other operand, what is summed none in the output;
    * (P2) without `gemm` and `loops` nothing is prepared or converted;
    * (P3) one of a matrix' strides is 1, where it has a size above 1, and the
      other no less than the size along it; all fit 32 bits;
    * (P4) a scratch is dense, and products stay in it;
    * (P5) oneDNN is a library of CPUs, for f32 and what is computed in it.
  }];
  let parameters = (ins AttrParameter<"::shoal::calls::ProductPlan", "",
                                      "const ::shoal::calls::ProductPlan &">:$plan);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Rt_EinsumOp : Rt_CallOp<"einsum", "getOutputMutable()", [AttrSizedOperandSegments]> {
  let summary = "A product of two tensors";
  let description = [{
    `"GSM,ME->GSE"`: each element of the result is the sum, over the letters
    that it lacks, of the products of the operands' elements. Floats of 16 and 8
    bits are summed in f32 and rounded once.

    Its `plan` says how it is computed (`--shoal-plan-products`); the runtime
    decides nothing.

    Before it is rounded each element is multiplied by the `scales`, then the
    `bias`, which has some of the result's letters, is added, then the
    activation applied.
    ```mlir
    func.func @layer(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>,
                     %init: tensor<4x16xf32>) -> tensor<4x16xf32> {
      %y = rt.einsum "ik,kj->ij" ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>)
           bias "j"(%b : tensor<16xf32>) activation gelu
           outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
      return %y : tensor<4x16xf32>
    }
    ```
    Constraints:
    * (C1) the spec is well formed and has two terms; each tensor's rank is its
      number of letters, a letter has one size throughout; each letter of the
      result stands in an operand, and once in the result;
    * (C2) elements are all floats or all integers; the operands' are of one
      type, or both floats of 8 bits;
    * (C3) there are at most two scales, single elements of f32, and some only
      where the operands are floats of 8 bits;
    * (C4) a bias has its letters, which stand in the result and once in the
      bias, with their sizes; its elements are the result's;
    * (C5) scales, bias and activation go with floats;
    * (C6) a plan is one of this product: it is `zero` where a letter has size 0,
      and only there; it converts the mixtures of types that no kernel takes,
      and only those; its loops stay in their tensors, those of the output run
      through it once; what is prepared or packed is no larger than its operand;
      it has as many terms as the letters have combinations;
      its library or loops take the types;
    * (C7) where there are a plan and scratch, it has as many bytes as that needs.
  }];
  let arguments = !con((ins AnyShaped:$lhs, AnyShaped:$rhs, Variadic<AnyShaped>:$scales,
                            Optional<AnyShaped>:$bias, AnyShaped:$output, StrAttr:$spec,
                            OptionalAttr<StrAttr>:$bias_letters,
                            OptionalAttr<Rt_Activation>:$activation,
                            OptionalAttr<Rt_ProductPlanAttr>:$plan), Rt_Scratch);
  let assemblyFormat = !strconcat([{
    $spec `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)`
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`bias` $bias_letters^ `(` $bias `:` type($bias) `)`)?
    (`activation` $activation^)?
    `outs` `(` $output `:` type($output) `)` (`plan` $plan^)? }],
    Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");
  let declarations = !strconcat(Rt_ScratchDeclarations, [{
    /// The letters, numbered as in the descriptor.
    ::shoal::rt::ProductTerms getTerms();
    /// What is to be planned.
    ::shoal::products::EinsumSpec getProduct();
    /// (C6), (C7)
    ::llvm::LogicalResult verifyPlan();
    /// The sizes of lhs' rows, of rhs' columns and of what is summed over.
    ::shoal::rt::MatrixSizes getMatrixSizes();
    /// Whether both operands are floats of 8 bits.
    bool isFloat8();
    bool isVariadic() { return true; }
    double countTerms();
    std::optional<::shoal::ProductShape> getProductShape();
  }]);
}

def Rt_RaggedEinsumOp : Rt_CallOp<"ragged_einsum", "getOutputMutable()"> {
  let summary = "A product whose rows belong to groups known at run time";
  let description = [{
    See `shoal.ragged_einsum`: for each index of the bounds, the product of the
    operands' parts at that index, of the rows from `begins[index]` to
    `ends[index]`, cut to those that exist, added to the result's part; 0
    elsewhere.
    ```mlir
    func.func @experts(%x: tensor<12x4xf32>, %w: tensor<3x4x5xf32>, %begins: tensor<3xi32>,
                       %ends: tensor<3xi32>, %init: tensor<12x5xf32>) -> tensor<12x5xf32> {
      %y = rt.ragged_einsum "TM,EMH,E->TH" rows "T" ins(%x, %w : tensor<12x4xf32>, tensor<3x4x5xf32>)
           groups(%begins, %ends : tensor<3xi32>, tensor<3xi32>)
           outs(%init : tensor<12x5xf32>) -> tensor<12x5xf32>
      return %y : tensor<12x5xf32>
    }
    ```
    Constraints:
    * (C1) the spec is well formed and has three terms, of `lhs`, of `rhs` and
      of both bounds; each tensor's rank is its number of letters, a letter has
      one size throughout; each letter of the result stands in a term, and once
      in the result;
    * (C2) `rows` is one letter of the operands, and not of the bounds;
    * (C3) the operands have one element type, the result has it too, or f32
      where they have bf16 or f16; bounds are i32 or i64, and of one type.
  }];
  let arguments = !con((ins AnyShaped:$lhs, AnyShaped:$rhs, AnyShaped:$begins, AnyShaped:$ends,
                            AnyShaped:$output, StrAttr:$spec, StrAttr:$rows), Rt_Scratch);
  let assemblyFormat = !strconcat([{
    $spec `rows` $rows `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)`
    `groups` `(` $begins `,` $ends `:` type($begins) `,` type($ends) `)`
    `outs` `(` $output `:` type($output) `)` }],
    Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");
  let declarations = !strconcat(Rt_ScratchDeclarations, [{
    /// Whether elements of type `in` are multiplied into those of type `out`:
    /// equal types, or f16 and bf16 into f32.
    static bool multiplies(::mlir::Type in, ::mlir::Type out);
    ::shoal::rt::ProductTerms getTerms();
    double countTerms();
    std::optional<::shoal::ProductShape> getProductShape();
    bool isRagged() { return true; }
  }]);
}

#endif // RT_PRODUCT_OPS_TD

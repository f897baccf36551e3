// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Layers and routing of neural networks, named as in jax.nn. Each decomposes to
// other ops, arith and math.

#ifndef SHOAL_NN_OPS_TD
#define SHOAL_NN_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

class Shoal_ActivationOp<string mnemonic>
    : Shoal_Op<mnemonic, [Pure, SameOperandsAndResultType, Elementwise,
                          DeclareOpInterfaceMethods<CompositeOpInterface>]> {
  let arguments = (ins Shoal_FloatTensor:$input);
  let results = (outs Shoal_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Shoal_OneHotOp : Shoal_CompositeOp<"one_hot"> {
  let summary = "A one at each index, along a new dimension";
  let description = [{
    The result has the operand's shape with a dimension of the result's size
    inserted at `dim`; element (…, j, …) is 1 where the index equals j, else 0.
    An index out of range gives zeros.
    ```mlir
    %m = shoal.one_hot %i {dim = 2} : tensor<8x512xi32> -> tensor<8x512x16xf32>
    ```
    Constraints:
    * (C1) `dim` is a dimension of the result, whose other sizes are the operand's.
  }];
  let arguments = (ins Shoal_IntTensor:$indices, I64Attr:$dim);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$indices attr-dict `:` type($indices) `->` type($result)";
}

def Shoal_SoftmaxOp : Shoal_CompositeOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "exp(x - max) / sum along a dimension";
  let description = [{
    bf16 and f16 are computed in f32 and rounded once, as in `layer_norm`,
    `silu` and `gelu`.
    ```mlir
    %g = shoal.softmax %logits {axis = 2} : tensor<8x512x8xf32>
    ```
    Constraints:
    * (C1) `axis` is a dimension.
  }];
  let arguments = (ins Shoal_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Shoal_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Shoal_LayerNormOp : Shoal_CompositeOp<"layer_norm"> {
  let summary = "Normalises a dimension to mean 0 and variance 1, then scales and shifts";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias along `axis`, the
    variance being the biased one. `scale` and `bias` have one dimension, the
    size of `axis`.
    ```mlir
    %y = shoal.layer_norm %x, %scale, %bias {axis = 2}
       : tensor<8x16x64xf32>, tensor<64xf32>, tensor<64xf32>
    ```
    Constraints:
    * (C1) `axis` is a dimension;
    * (C2) scale and bias are vectors of that dimension's size and element type;
    * (C3) epsilon is finite and not negative;
    * (C4) the result has the operand's type.
  }];
  let arguments = (ins Shoal_FloatTensor:$input, Shoal_FloatTensor:$scale,
                       Shoal_FloatTensor:$bias, I64Attr:$axis,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs Shoal_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $bias attr-dict `:` type($input) `,` type($scale) `,` type($bias)
    custom<SameType>(ref(type($input)), type($result))
  }];
}

def Shoal_RMSNormOp : Shoal_CompositeOp<"rms_norm"> {
  let summary = "Normalises a dimension to mean square 1, then scales";
  let description = [{
    x / sqrt(mean(x^2) + epsilon) * scale along `axis`: `layer_norm` without its
    mean and bias. `scale` has one dimension, the size of `axis`. bf16 and f16
    are computed in f32 and rounded once.
    ```mlir
    %y = shoal.rms_norm %x, %scale {axis = 2} : tensor<8x16x64xf32>, tensor<64xf32>
    ```
    Constraints:
    * (C1) `axis` is a dimension;
    * (C2) scale is a vector of that dimension's size and element type;
    * (C3) epsilon is finite and not negative;
    * (C4) the result has the operand's type.
  }];
  let arguments = (ins Shoal_FloatTensor:$input, Shoal_FloatTensor:$scale,
                       I64Attr:$axis, DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs Shoal_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale attr-dict `:` type($input) `,` type($scale)
    custom<SameType>(ref(type($input)), type($result))
  }];
}

def Shoal_ReluOp : Shoal_ActivationOp<"relu"> {
  let summary = "max(x, 0)";
  let description = [{
    ```mlir
    %y = shoal.relu %x : tensor<8x16xf32>
    ```
  }];
}

def Shoal_SiluOp : Shoal_ActivationOp<"silu"> {
  let summary = "x / (1 + exp(-x))";
  let description = [{
    ```mlir
    %y = shoal.silu %x : tensor<8x16xf32>
    ```
  }];
}

def Shoal_GeluOp : Shoal_ActivationOp<"gelu"> {
  let summary = "x * Phi(x)";
  let description = [{
    With the exact normal distribution function (erf), or with `approximate`
    its tanh form 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
    ```mlir
    %y = shoal.gelu %x : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Shoal_FloatTensor:$input, UnitAttr:$approximate);
}

def Shoal_TopKGatingOp : Shoal_CompositeOp<"top_k_gating"> {
  let summary = "GShard's gating: combine weights, dispatch mask, auxiliary loss";
  let description = [{
    GShard Algorithm 1 for any k, on gates [G, S, E] (a softmax over E):

    * the k best experts of each token, their weights renormalised to sum 1;
    * a token's position in its expert's buffer is the number of earlier
      choices of that expert in the group; all first choices come before all
      second choices, and so on; every choice counts, also one that is dropped;
    * a choice whose position is not below the capacity C is dropped: its row
      of `combine` and `dispatch` is zero, so that a residual carries the token;
    * with a `key`, choice j >= 1 (counted from 0) is also dropped unless
      2 * weight > rnd, rnd uniform on [G, S] from the key whose second word is
      increased by j;
    * aux is the mean over groups of (1/E) sum_e (c_e / S) m_e: c_e counts the
      first choices of expert e, m_e is its mean gate.

    `combine` and `dispatch` are [G, S, E, C]. C is `capacity`, or else
    max(min_capacity, ceil(capacity_factor * k * S / E)), computed in f64 from
    left to right. Gates of bf16 and f16 are routed in f32.
    ```mlir
    %combine, %dispatch, %aux = shoal.top_k_gating %gates {k = 2, capacity = 128}
      : tensor<8x512x8xf32> -> tensor<8x512x8x128xf32>, tensor<8x512x8x128xf32>, tensor<f32>
    ```
    Constraints:
    * (C1) gates have rank 3; 1 <= k <= E; k * S < 2^31;
    * (C2) exactly one of capacity and capacity_factor is given; it and
      min_capacity are positive; C < 2^31;
    * (C3) combine and dispatch have shape [G, S, E, C] for that C; aux is a
      scalar; all have the gates' element type;
    * (C4) the key, where given, has two elements.
  }];
  let arguments = (ins Shoal_FloatTensor:$gates, Optional<Shoal_KeyTensor>:$key,
                       I64Attr:$k, OptionalAttr<I64Attr>:$capacity,
                       OptionalAttr<F64Attr>:$capacity_factor,
                       DefaultValuedAttr<I64Attr, "4">:$min_capacity);
  let results = (outs Shoal_FloatTensor:$combine, Shoal_FloatTensor:$dispatch,
                      Shoal_FloatTensor:$aux);
  let assemblyFormat = [{
    $gates (`key` $key^ `:` type($key))? attr-dict `:` type($gates) `->`
    type($combine) `,` type($dispatch) `,` type($aux)
  }];
  let extraClassDeclaration = [{
    /// The capacity given, or computed from the factor: GShard §2.2.
    int64_t getExpertCapacity();
  }];
}

#endif // SHOAL_NN_OPS_TD

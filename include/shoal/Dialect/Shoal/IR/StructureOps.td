// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_OPS_TD
#define SHOAL_OPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

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
    The identity on values; here the value has exactly this sharding, and no
    addends are pending. Open dimensions leave the choice to the compiler. The
    annotation says nothing of the ops before and after it.

    With `hint` it only asks: propagation spreads it like any other, and the
    search begins there, but another sharding is chosen where that is cheaper.
    ```mlir
    %y = shoal.sharding_constraint %x <@mesh, [{"data"}, {?} ]> : tensor<16x4xf32>
    %z = shoal.sharding_constraint %y <@mesh, [{}, {"data"} ]> {hint} : tensor<16x4xf32>
    ```
    Constraints:
    * (A5) the sharding is one of the tensor, (S1) to (S3), and has no partial
      axes.
  }];
  let arguments = (ins Shoal_Tensor:$input, Shoal_ShardingAttr:$sharding,
                       UnitAttr:$hint);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Shoal_ReshardOp : Shoal_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "Changes the sharding of a value";
  let description = [{
    Inserted by `--shoal-assign` where an op needs its operand in another
    sharding than the one it was made in. The identity on values.
    `--shoal-plan-reshards` replaces it by a chain of reshards that a single
    collective each, named behind `by`, can carry out.
    ```mlir
    %y = shoal.reshard %x <@mesh, [{"x"}, {} ]> -> <@mesh, [{}, {"x"} ]> : tensor<16x4xf32>
    ```
    Constraints:
    * (R1) both shardings are of the tensor's rank and have no open dimension;
    * (R2) the target is partial only over axes that the source is partial over
      or does not name;
    * (R3) the two meshes have the same axes; they may differ in device order.
  }];
  let arguments = (ins Shoal_Tensor:$input, Shoal_ShardingAttr:$source,
                       Shoal_ShardingAttr:$target, OptionalAttr<Shoal_ReshardStep>:$step,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input $source `->` $target (`by` $step^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

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
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Shoal_ReduceOp : Shoal_Op<"reduce", [Pure]> {
  let summary = "Reduces dimensions away";
  let description = [{
    `and` and `or` are bitwise. Integers are signed to `max` and `min`, and
    wrap. NaN stays NaN. The reduction over no element is the combiner's
    identity (for max the smallest value of the type, -inf for floats).
    ```mlir
    %m = shoal.reduce max %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
    ```
    Constraints:
    * (C1) `dims` are distinct dimensions of the operand, in ascending order;
    * (C2) the result has the operand's remaining dimensions and element type;
    * (C3) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, Shoal_Tensor:$input,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$kind $input `dims` `=` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_BroadcastInDimOp : Shoal_Op<"broadcast_in_dim", [Pure]> {
  let summary = "Places operand dimensions in a larger shape and repeats along the others";
  let description = [{
    Operand dimension i becomes result dimension `dims[i]`; a size of 1 is
    repeated. StableHLO broadcast_in_dim.
    ```mlir
    %y = shoal.broadcast_in_dim %x dims = [0] : tensor<8xf32> -> tensor<8x16xf32>
    ```
    Constraints:
    * (C1) `dims` has an entry per operand dimension, distinct and in range;
    * (C2) each operand dimension's size is 1 or the result dimension's size;
    * (C3) one element type.
  }];
  let arguments = (ins Shoal_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$input `dims` `=` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_TransposeOp : Shoal_Op<"transpose", [Pure]> {
  let summary = "Permutes dimensions";
  let description = [{
    Result dimension i is operand dimension `permutation[i]`.
    ```mlir
    %y = shoal.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    ```
    Constraints:
    * (C1) `permutation` permutes the operand's dimensions;
    * (C2) the result's shape is the permuted shape, its element type the operand's.
  }];
  let arguments = (ins Shoal_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$input `permutation` `=` $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_ReshapeOp : Shoal_Op<"reshape", [Pure]> {
  let summary = "Another shape for the same elements in row-major order";
  let description = [{
    ```mlir
    %y = shoal.reshape %x : tensor<3x2xf32> -> tensor<6xf32>
    ```
    Constraints:
    * (C1) operand and result have equally many elements of one type.
  }];
  let arguments = (ins Shoal_Tensor:$input);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_IotaOp : Shoal_Op<"iota", [Pure]> {
  let summary = "Each element is its index along one dimension";
  let description = [{
    Converted to the element type: integers wrap, floats round.
    ```mlir
    %i = shoal.iota dim = 1 : tensor<2x3xi32>    // [[0, 1, 2], [0, 1, 2]]
    ```
    Constraints:
    * (C1) `dim` is a dimension of the result.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_SliceOp : Shoal_Op<"slice", [Pure]> {
  let summary = "A rectangular part with constant bounds and strides";
  let description = [{
    Dimension d keeps the indices `starts[d]`, `starts[d] + strides[d]`, … below
    `limits[d]`. StableHLO slice.
    ```mlir
    %y = shoal.slice %x starts = [1, 0] limits = [4, 6] strides = [1, 2]
       : tensor<5x6xf32> -> tensor<3x3xf32>
    ```
    Constraints:
    * (C1) one entry per dimension; 0 <= start <= limit <= size, stride >= 1;
    * (C2) the result's sizes are ceil((limit - start) / stride), one element type.
  }];
  let arguments = (ins Shoal_Tensor:$input, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$strides);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input `starts` `=` $starts `limits` `=` $limits `strides` `=` $strides attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_PadOp : Shoal_Op<"pad", [Pure]> {
  let summary = "Surrounds a tensor with a value, and spreads its elements";
  let description = [{
    `low[d]` elements of the value go before dimension d, `high[d]` behind it,
    `interior[d]` between each two neighbours. A negative `low` or `high` takes
    away so many elements, after the interior padding. StableHLO pad.
    ```mlir
    %y = shoal.pad %x, %zero low = [1, 0] high = [0, 2] interior = [0, 0]
       : tensor<3x4xf32>, tensor<f32> -> tensor<4x6xf32>
    ```
    Constraints:
    * (C1) one entry per dimension, `interior` not negative;
    * (C2) the result's sizes are low + size + high + interior * max(size - 1, 0),
      none negative;
    * (C3) the value is a scalar tensor of the operand's element type.
  }];
  let arguments = (ins Shoal_Tensor:$input, Shoal_Tensor:$value,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $value `low` `=` $low `high` `=` $high `interior` `=` $interior attr-dict
    `:` type($input) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The operand rows begin ... end - 1 that stand in the result, the first
    /// at result row `place`, the others interior + 1 apart. Negative padding
    /// takes the rest away.
    struct Kept {
      int64_t begin, end, place;
    };
    Kept getKept(int64_t dim);
    /// Whether rows are added to or taken from the dimension.
    bool touches(int64_t dim) {
      return getLow()[dim] != 0 || getHigh()[dim] != 0 || getInterior()[dim] != 0;
    }
  }];
}

def Shoal_ReverseOp : Shoal_Op<"reverse", [Pure, SameOperandsAndResultType]> {
  let summary = "The elements in opposite order along some dimensions";
  let description = [{
    StableHLO reverse.
    ```mlir
    %y = shoal.reverse %x dims = [0] : tensor<5x4xf32>
    ```
    Constraints:
    * (C1) `dims` are distinct dimensions, in ascending order.
  }];
  let arguments = (ins Shoal_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$input `dims` `=` $dims attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_ConcatenateOp : Shoal_Op<"concatenate", [Pure]> {
  let summary = "Tensors one behind the other along a dimension";
  let description = [{
    ```mlir
    %z = shoal.concatenate %x, %y dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
    ```
    Constraints:
    * (C1) at least one operand; `dim` is a dimension;
    * (C2) all shapes agree but along `dim`, where the result has the sum; one
      element type.
  }];
  let arguments = (ins Variadic<Shoal_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Shoal_CumulativeOp : Shoal_Op<"cumulative", [Pure, SameOperandsAndResultType]> {
  let summary = "Running reduction along a dimension";
  let description = [{
    Element i combines the elements 0 … i of its line, or 0 … i - 1 with
    `exclusive` (the first is the combiner's identity); `reverse` runs from the
    other end.
    ```mlir
    %p = shoal.cumulative sum %mask dim = 1 {exclusive} : tensor<8x512x8xi32>
    ```
    Constraints:
    * (C1) `dim` is a dimension;
    * (C2) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, Shoal_Tensor:$input, I64Attr:$dim,
                       UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$kind $input `dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Shoal_TopKOp : Shoal_Op<"top_k", [Pure]> {
  let summary = "The k largest elements of the last dimension, with their places";
  let description = [{
    Values in descending order; equal values in ascending order of place; NaN
    counts as larger than all.
    ```mlir
    %v, %i = shoal.top_k %x {k = 2} : tensor<8x16xf32> -> tensor<8x2xf32>, tensor<8x2xi32>
    ```
    Constraints:
    * (C1) 1 <= k <= the last dimension's size;
    * (C2) both results have the operand's shape with k last; the values its
      element type, the places i32;
    * (C3) the elements are not i1.
  }];
  let arguments = (ins Shoal_Tensor:$input, I64Attr:$k);
  let results = (outs Shoal_Tensor:$values, Shoal_Tensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Composites: each decomposes to the ops above, arith and math
//===----------------------------------------------------------------------===//

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

def Shoal_RandomOp : Shoal_CompositeOp<"random"> {
  let summary = "Counter-based random numbers (threefry-2x32)";
  let description = [{
    An element's value depends on the key and on its row-major index i in the
    whole tensor alone, hence not on the sharding. (x0, x1) is the output of
    threefry-2x32 with 20 rounds (Salmon et al., SC'11, "Parallel random
    numbers: as easy as 1, 2, 3") for the counter (i >> 32, i & 0xffffffff).

    * uniform f32: (x0 >> 8) * 2^-24, in [0, 1); bf16 and f16 take 8 and 11
      bits of x0; f64: ((x0 << 32 | x1) >> 11) * 2^-53.
    * normal: sqrt(-2 ln(1 - u0)) * cos(2 pi u1), u0 and u1 the f32 uniforms of
      x0 and x1 (f64: x0 * 2^-32 and x1 * 2^-32).
    ```mlir
    %u = shoal.random uniform %key : tensor<2xi32> -> tensor<8x512xf32>
    ```
    Constraints:
    * (C1) the key has two elements.
  }];
  let arguments = (ins Shoal_Distribution:$distribution, Shoal_KeyTensor:$key);
  let results = (outs Shoal_FloatTensor:$result);
  let assemblyFormat = "$distribution $key attr-dict `:` type($key) `->` type($result)";
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

#endif // SHOAL_OPS_TD

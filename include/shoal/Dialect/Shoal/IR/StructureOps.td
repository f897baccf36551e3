// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that place elements, and iota, whose elements are places.

#ifndef SHOAL_STRUCTURE_OPS_TD
#define SHOAL_STRUCTURE_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

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
  let hasCanonicalizer = 1;
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
  let hasCanonicalizer = 1;
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

def Shoal_RollOp : Shoal_Op<"roll", [Pure, SameOperandsAndResultType]> {
  let summary = "The rows of a dimension some places further along, around its end";
  let description = [{
    Of n rows of dimension `dim`, row r of the result is row (r - `shift`) mod n
    of the operand. A concatenation of the last rows of a tensor and of those
    before them is rewritten so: devices that split the dimension then send the
    rows that change their device, and no others.
    ```mlir
    %y = shoal.roll %x dim = 0 shift = 2 : tensor<5x4xf32>    // rows 3 4 0 1 2
    ```
    Constraints:
    * (C1) `dim` is a dimension;
    * (C2) 0 <= `shift`, which is 0 or less than the dimension's size.
  }];
  let arguments = (ins Shoal_Tensor:$input, I64Attr:$dim, I64Attr:$shift);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = "$input `dim` `=` $dim `shift` `=` $shift attr-dict `:` type($result)";
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
  let hasCanonicalizer = 1;
}

#endif // SHOAL_STRUCTURE_OPS_TD

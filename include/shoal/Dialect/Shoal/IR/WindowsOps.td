// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that slide a window over dimensions.

#ifndef SHOAL_WINDOWS_OPS_TD
#define SHOAL_WINDOWS_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_ConvolutionOp : Shoal_Op<"convolution", [Pure]> {
  let summary = "Products of a kernel with windows of the operand";
  let description = [{
    StableHLO convolution in one to three spatial dimensions. `spec` names the
    dimensions of operand, kernel and result: `b` and `f` are batch and feature,
    `i` and `o` the kernel's input and output feature, the digits `0`, `1`, `2`
    the spatial dimensions. Lists have an entry a spatial dimension, `0` first;
    one that is left out holds 1 for strides and dilations, 0 for padding, false
    for `reversal`.

    Along a spatial dimension, result row r at place k of the kernel reads
    operand row (r * stride + k * window_dilation - low) / base_dilation, where
    that is a whole number and a row of the operand; elsewhere it adds nothing.
    `reversal` takes the kernel's last row first. `low` and `high` may be
    negative. Zeros may stand for what is not there, also behind the last row of
    a kernel that is split: what infinities and NaN make of them is unspecified.

    With `feature_group_count` G, the operand's features and the kernel's output
    features are cut into G groups, and group g of the result's features is made
    from groups g. With `batch_group_count` G, the operand's batch is cut instead
    of its features. Sums of bf16 and f16 are accumulated in f32 and rounded
    once.
    ```mlir
    %y = shoal.convolution "b01f,01io->b01f" %x, %k strides = [2, 2] low = [0, 0] high = [1, 1]
       : tensor<8x32x32x3xf32>, tensor<3x3x3x16xf32> -> tensor<8x16x16x16xf32>
    ```
    Constraints:
    * (C1) the spec is well formed: each tensor has its two letters and the same
      one to three digits, from 0 on, each once;
    * (C2) each tensor's rank is that of its part of the spec;
    * (C3) lists have an entry per spatial dimension; strides, dilations and
      group counts are at least 1, the kernel has at least one row in each
      spatial dimension, and no entry is beyond 2^31;
    * (C4) the operand's features are those of the kernel times
      `feature_group_count`, which divides the kernel's output features;
    * (C5) `batch_group_count` divides the operand's batch and the kernel's
      output features; one of the two counts is 1;
    * (C6) the result has the operand's batch over `batch_group_count`, the
      kernel's output features, and in each spatial dimension
      floor((n + low + high - w) / stride) + 1 rows, or none where the numerator
      is negative: n is the size of the operand with base_dilation - 1 holes
      between its rows, w that of the kernel with its dilation, and neither w
      nor n with its padding is beyond 2^56;
    * (C7) the operands have one element type, not i1; the result has it too, or
      a wider one of the same kind.
  }];
  let arguments = (ins StrAttr:$spec, Shoal_Tensor:$input, Shoal_Tensor:$kernel,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<DenseI64ArrayAttr>:$low,
                       OptionalAttr<DenseI64ArrayAttr>:$high,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$reversal,
                       DefaultValuedAttr<I64Attr, "1">:$feature_group_count,
                       DefaultValuedAttr<I64Attr, "1">:$batch_group_count);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $spec $input `,` $kernel (`strides` `=` $strides^)? (`low` `=` $low^)?
    (`high` `=` $high^)? (`base_dilation` `=` $base_dilation^)?
    (`window_dilation` `=` $window_dilation^)? (`reversal` `=` $reversal^)? attr-dict
    `:` type($input) `,` type($kernel) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of a verified op.
    ::shoal::ConvolutionDims getDims();
    /// An entry per spatial dimension.
    ::llvm::SmallVector<::shoal::WindowDim> getWindow();
    /// Whether a split of a spatial dimension splits the kernel, and makes
    /// addends: where it has more rows than the result, as in gradients.
    bool contractsSpatial(unsigned dim);
  }];
}

def Shoal_ReduceWindowOp : Shoal_Op<"reduce_window", [Pure]> {
  let summary = "Reduces each window of the operand to one element";
  let description = [{
    StableHLO reduce_window with one of the combiners of `shoal.reduce`. Element
    r of the result combines `init`, once, with the operand's elements at
    (r * stride + k * window_dilation - low) / base_dilation for all places k of
    the window, in each dimension, where these are whole numbers within the
    operand: padding and holes count as absent. The mean of windows is their sum
    over the sum of a tensor of ones. Lists that are left out hold 1 for strides
    and dilations, 0 for padding; `low` and `high` may be negative.
    ```mlir
    %y = shoal.reduce_window max %x, %lowest window = [1, 3] strides = [1, 2] high = [0, 1]
       : tensor<8x16xf32>, tensor<f32> -> tensor<8x8xf32>
    ```
    Constraints:
    * (C1) lists have an entry per dimension; window sizes, strides and
      dilations are at least 1 and no entry is beyond 2^31;
    * (C2) `init` is a scalar tensor of the operand's element type;
    * (C3) the result's sizes are those of (C6) of `shoal.convolution`, its
      element type the operand's;
    * (C4) `and` and `or` take integers, the others all but i1.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, Shoal_Tensor:$input, Shoal_Tensor:$init,
                       DenseI64ArrayAttr:$window,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<DenseI64ArrayAttr>:$low,
                       OptionalAttr<DenseI64ArrayAttr>:$high,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilation);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $kind $input `,` $init `window` `=` $window (`strides` `=` $strides^)?
    (`low` `=` $low^)? (`high` `=` $high^)? (`base_dilation` `=` $base_dilation^)?
    (`window_dilation` `=` $window_dilation^)? attr-dict
    `:` type($input) `,` type($init) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// An entry per dimension.
    ::llvm::SmallVector<::shoal::WindowDim> getWindowDims();
    /// Whether the only window in a dimension holds all of several rows: it is
    /// reduced then, and a split makes addends.
    bool contractsDim(unsigned dim);
  }];
}

def Shoal_SelectAndScatterOp : Shoal_Op<"select_and_scatter", [Pure]> {
  let summary = "Adds each source element where its window has its extremum";
  let description = [{
    StableHLO select_and_scatter, the gradient of pooling. `source` has an
    element per window of the operand. In each window the largest element is
    selected (`max`) or the smallest (`min`), of equal ones the first in
    row-major order or, with `last`, the last; a NaN counts as beyond all
    numbers. The result is `init` everywhere, plus at each place the sum of the
    source elements whose windows selected it. Places of padding hold the
    combiner's identity; what is added to them is lost. Sums of bf16 and f16 are
    accumulated in f32 and rounded once.
    ```mlir
    %dx = shoal.select_and_scatter max %x, %dy, %zero window = [1, 2] strides = [1, 2]
       : tensor<8x16xf32>, tensor<8x8xf32>, tensor<f32> -> tensor<8x16xf32>
    ```
    Constraints:
    * (C1) lists have an entry per dimension; window sizes and strides are at
      least 1, padding at least 0, no entry is beyond 2^31, and the window has
      less than 2^31 places;
    * (C2) `kind` is max or min;
    * (C3) `source` has the shape of the windows, as the result of
      `shoal.reduce_window` has, and the operand's element type, which is not i1;
    * (C4) `init` is a scalar tensor of the operand's element type;
    * (C5) the result has the operand's type.
  }];
  let arguments = (ins Shoal_ReduceKind:$kind, Shoal_Tensor:$input, Shoal_Tensor:$source,
                       Shoal_Tensor:$init, DenseI64ArrayAttr:$window,
                       OptionalAttr<DenseI64ArrayAttr>:$strides,
                       OptionalAttr<DenseI64ArrayAttr>:$low,
                       OptionalAttr<DenseI64ArrayAttr>:$high, UnitAttr:$last);
  let results = (outs Shoal_Tensor:$result);
  let assemblyFormat = [{
    $kind $input `,` $source `,` $init `window` `=` $window (`strides` `=` $strides^)?
    (`low` `=` $low^)? (`high` `=` $high^)? attr-dict
    `:` type($input) `,` type($source) `,` type($init) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// An entry per dimension.
    ::llvm::SmallVector<::shoal::WindowDim> getWindowDims();
  }];
}

#endif // SHOAL_WINDOWS_OPS_TD

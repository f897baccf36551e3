// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_TD
#define SHOAL_DIALECT_TD

include "mlir/IR/OpBase.td"

def Shoal_Dialect : Dialect {
  let name = "shoal";
  let cppNamespace = "::shoal";
  let summary = "Global programs: one huge imaginary device";
  let description = [{
    A program of the `shoal` dialect is written for one imaginary device that
    holds every tensor whole. Elementwise arithmetic is upstream `arith` and
    `math` on tensors; this dialect holds what they lack: einsum, structural
    ops with the meaning of their StableHLO namesakes, the composites of
    Mixture-of-Experts layers, meshes, and the annotations that say how a few
    tensors are laid out over the devices.

    Every tensor is ranked and has a static shape. After partitioning the same
    ops appear on the shapes of one device's shards, together with the
    collectives of the `spmd` dialect.

    Function arguments and results carry the discardable attributes
    `shoal.name` (a string, the name at the command line),
    `shoal.sharding` (a `#shoal.sharding`, a hard annotation) and
    `shoal.unsigned` (a unit attribute: these integers have no sign outside of
    the program, in whose arrays they are uint32 and so on) and
    `shoal.complex` (a unit attribute, on f32 or f64: the last dimension, of size
    2, is the real and the imaginary part of numbers that are complex outside of
    the program; it is not split) and
    `shoal.codes` (a string, on i8: the type of elements, `"i4"`, `"ui2"`,
    `"f8E4M3FNUZ"`, ..., whose codes these bytes are outside of the program, in
    whose arrays they are int4 and so on; of fewer than 8 bits the low ones
    count). An argument
    marked `shoal.donated` is given away: the program may write over it, and a
    result with the same type and sharding on each device is made in its memory
    where the order of the program allows.
    ```mlir
    func.func @step(%w: tensor<64x64xf32> {shoal.donated}, %g: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %new = arith.subf %w, %g : tensor<64x64xf32>
      return %new : tensor<64x64xf32>
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // SHOAL_DIALECT_TD

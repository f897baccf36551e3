// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_RESHAPE_OPS_TD
#define SHOAL_RESHAPE_OPS_TD

include "mlir/Interfaces/ViewLikeInterface.td"
include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

def Shoal_ReshapeOp : Shoal_Op<"reshape",
    [Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
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
  let extraClassDefinition = [{
    ::mlir::Value $cppClass::getViewSource() { return getInput(); }
  }];
}

#endif // SHOAL_RESHAPE_OPS_TD

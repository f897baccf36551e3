// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What phases do between passes that leave something behind.

#ifndef SHOAL_CONVERSION_CLEANUP_PASSES_TD
#define SHOAL_CONVERSION_CLEANUP_PASSES_TD

include "mlir/Pass/PassBase.td"

def MergeEqualOps : Pass<"shoal-merge-equal-ops"> {
  let summary = "Equal ops become one, also of thousands that differ in their regions alone";
  let description = [{
    MLIR's `cse`, with the same result. Its hash does not look into regions: ops of
    the same operands whose regions differ, as the loops of a program that returns
    thousands of functions of an argument, are compared each with each. While this
    pass runs, each op with regions has a hash of them as an attribute, which is
    part of what `cse` hashes.

    ```mlir
    func.func @equal_loops_become_one(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %init = tensor.empty() : tensor<8xf32>
      %0 = linalg.map { math.exp } ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>)
      %1 = linalg.map { math.exp } ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>)
      return %0, %1 : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @equal_loops_become_one(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %init = tensor.empty() : tensor<8xf32>
      %0 = linalg.map { math.exp } ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>)
      return %0, %0 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

#endif // SHOAL_CONVERSION_CLEANUP_PASSES_TD

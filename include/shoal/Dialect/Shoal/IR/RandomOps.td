// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_RANDOM_OPS_TD
#define SHOAL_RANDOM_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

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

#endif // SHOAL_RANDOM_OPS_TD

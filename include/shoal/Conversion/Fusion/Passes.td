// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fewer and larger ops on tensors.

#ifndef SHOAL_CONVERSION_FUSION_PASSES_TD
#define SHOAL_CONVERSION_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseElementwise : Pass<"shoal-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse elementwise linalg ops into their consumers";
  let description = [{
    Fuses a producer whose loops are all parallel into a consumer, a reduction
    as well, and constants into both. Work is never repeated where it costs:

    * a producer that the consumer reads once per element is fused into the
      first consumer, which then also yields the value if others need it; one
      that only broadcasts or converts is computed by each consumer instead,
      where none reads more so;
    * a producer that would be computed several times (because the consumer
      broadcasts it, or because several consumers would each compute it) is
      fused only when it merely moves elements or is a few cheap operations.

    The softmax of a row is then three loops: the maximum; exponential and sum;
    the quotient.

    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %e = math.exp %in : f32
        linalg.yield %e : f32
      } -> tensor<8xf32>
      %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%1 : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %n = arith.negf %in : f32
        linalg.yield %n : f32
      } -> tensor<8xf32>
      return %2 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %e = math.exp %in : f32
        %n = arith.negf %e : f32
        linalg.yield %n : f32
      } -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def OrderOps : Pass<"shoal-order-ops", "::mlir::func::FuncOp"> {
  let summary = "Run ops later that make more than they let go";
  let description = [{
    An op that only computes goes to where its result is read first, if the result
    is larger than all operands together that would be held longer for it. Less is
    then held at each place in between, and nowhere more. Of the two gradients of a
    product that of the weights comes first, as the last to read the activation, and the
    other one lies where that was.

    Results smaller than a 64th of what the block holds at most stay. Collectives,
    calls of the user's functions and loops do not move, and no op moves behind the
    last one that reads a donated argument or what a loop carries: that one may write over it.

    ```mlir
    func.func @f(%h: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>) {
      %0 = tensor.empty() : tensor<8x8xf32>
      %1 = tensor.empty() : tensor<f32>
      %a = linalg.exp ins(%h : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
      %g = linalg.abs ins(%w : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
      %s = linalg.reduce {arith.addf} ins(%a : tensor<8x8xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
      return %s, %g : tensor<f32>, tensor<8x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%h: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>) {
      %0 = tensor.empty() : tensor<8x8xf32>
      %1 = tensor.empty() : tensor<f32>
      %a = linalg.exp ins(%h : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
      %s = linalg.reduce {arith.addf} ins(%a : tensor<8x8xf32>) outs(%1 : tensor<f32>) dimensions = [0, 1]
      %g = linalg.abs ins(%w : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
      return %s, %g : tensor<f32>, tensor<8x8xf32>
    }
    ```
  }];
}

def ReadResults : Pass<"shoal-read-results", "::mlir::func::FuncOp"> {
  let summary = "Read what is stored instead of what it was computed from";
  let description = [{
    Where a `linalg.generic` stores one operation of a value, element by element, and all
    who read the value behind it do that operation again, they read what is stored, and
    the value need not be held for them. A comparison with the constant
    of a maximum or minimum may read that as well: `x > c` is `max(x, c) > c`. So
    a relu's gradient asks the result where it was positive, and
    the operand ends at the relu.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%a: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %zero = arith.constant 0.0 : f32
      %0 = tensor.empty() : tensor<8xf32>
      %x = linalg.exp ins(%a : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %max = arith.maximumf %in, %zero : f32
        linalg.yield %max : f32
      } -> tensor<8xf32>
      %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
          ins(%x, %g : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %in_g: f32, %out: f32):
        %mask = arith.cmpf ogt, %in, %zero : f32
        %select = arith.select %mask, %in_g, %zero : f32
        linalg.yield %select : f32
      } -> tensor<8xf32>
      return %y, %dx : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%a: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %zero = arith.constant 0.0 : f32
      %0 = tensor.empty() : tensor<8xf32>
      %x = linalg.exp ins(%a : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %max = arith.maximumf %in, %zero : f32
        linalg.yield %max : f32
      } -> tensor<8xf32>
      %dx = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
          ins(%y, %g : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) {
      ^bb0(%in: f32, %in_g: f32, %out: f32):
        %mask = arith.cmpf ogt, %in, %zero : f32
        %select = arith.select %mask, %in_g, %zero : f32
        linalg.yield %select : f32
      } -> tensor<8xf32>
      return %y, %dx : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

def RecomputeValues : Pass<"shoal-recompute-values", "::mlir::func::FuncOp"> {
  let summary = "Compute values again instead of holding them where most is held";
  let description = [{
    Where the values of the function's block that are held at one place are most,
    one that is made before and used behind it, or there by a loop that can compute
    it, is computed again for those users: a result of a `linalg.generic`, of an element an iteration, that follows by
    at most 6 cheap operations from what is held until then anyway, such as the
    op's other results, or from what has an eighth of its size. That goes on at the
    place where most is held then, until nothing can be done there, 16 times at most.
    A gelu's gradient then finds its operand and the tanh stored, and nothing that
    follows from the two.

    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%0, %0 : tensor<8xf32>, tensor<8xf32>) {
      ^bb0(%in: f32, %e0: f32, %n0: f32):
        %e = math.exp %in : f32
        %n = arith.negf %e : f32
        linalg.yield %e, %n : f32, f32
      } -> (tensor<8xf32>, tensor<8xf32>)
      %2 = linalg.add ins(%1#0, %1#0 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %3 = linalg.mul ins(%2, %2 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %4 = linalg.add ins(%2, %3 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %5 = linalg.mul ins(%1#0, %1#1 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %6 = linalg.mul ins(%4, %5 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      return %6 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.empty() : tensor<8xf32>
      %1:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%x : tensor<8xf32>) outs(%0, %0 : tensor<8xf32>, tensor<8xf32>) {
      ^bb0(%in: f32, %e0: f32, %n0: f32):
        %e = math.exp %in : f32
        %n = arith.negf %e : f32
        linalg.yield %e, %n : f32, f32
      } -> (tensor<8xf32>, tensor<8xf32>)
      %2 = linalg.add ins(%1#0, %1#0 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %3 = linalg.mul ins(%2, %2 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %4 = linalg.add ins(%2, %3 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %again = tensor.empty() : tensor<8xf32>
      %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%1#0 : tensor<8xf32>) outs(%again : tensor<8xf32>) {
      ^bb0(%e: f32, %n0: f32):
        %n1 = arith.negf %e : f32
        linalg.yield %n1 : f32
      } -> tensor<8xf32>
      %5 = linalg.mul ins(%1#0, %n : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      %6 = linalg.mul ins(%4, %5 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
      return %6 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def FuseEpilogues : Pass<"shoal-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Let matrix products add biases and apply activations";
  let description = [{
    Of targets whose matrix products have epilogues. What the only user of an
    einsum does first with each of its elements becomes part of the call: the
    addition of a bias, a tensor of the result's last and some other dimensions
    but not of all, then a relu or a gelu, or one of these. The user keeps what
    is left.

    A product of two operands of f8 first takes up to two factors that do not
    depend on the element, as scales. An einsum whose operands are f8 but for a
    conversion and such a factor becomes one of f8. A remark says why products
    of f8 are not multiplied as such.

    The gelu is the one by tanh, in any form that rounding aside equals
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))); one by erf stays. The sum
    is then rounded once, behind the activation. Results of f64 stay.

    ```mlir
    func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>, %b: tensor<12xf32>) -> tensor<8x12xf32> {
      %zero = arith.constant 0.0 : f32
      %0 = tensor.empty() : tensor<8x12xf32>
      %1 = rt.einsum "ac,cb->ab"
             ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%0 : tensor<8x12xf32>) -> tensor<8x12xf32>
      %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
                                            affine_map<(d0, d1) -> (d0, d1)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%1, %b : tensor<8x12xf32>, tensor<12xf32>) outs(%0 : tensor<8x12xf32>) {
      ^bb0(%element: f32, %bias: f32, %out: f32):
        %sum = arith.addf %element, %bias : f32
        %relu = arith.maximumf %sum, %zero : f32
        linalg.yield %relu : f32
      } -> tensor<8x12xf32>
      return %2 : tensor<8x12xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>, %b: tensor<12xf32>) -> tensor<8x12xf32> {
      %0 = tensor.empty() : tensor<8x12xf32>
      %1 = rt.einsum "ac,cb->ab" ins(%x, %w : tensor<8x16xf32>, tensor<16x12xf32>)
             bias "b"(%b : tensor<12xf32>) activation relu
             outs(%0 : tensor<8x12xf32>) -> tensor<8x12xf32>
      return %1 : tensor<8x12xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::shoal::rt::RtDialect"];
}

def FuseGathers : Pass<"shoal-fuse-gathers", "::mlir::func::FuncOp"> {
  let summary = "Let ops read what was gathered from where it lies";
  let description = [{
    A gather of the runtime whose result, maybe in another shape, is read by a
    `linalg.generic` that takes each element once becomes part of that: its body
    clamps the starts of the windows as the runtime does and reads the operand
    by `tensor.extract`. The rows are then read once, and not written and read
    again. Up to four such ops each read long rows for themselves, of 128 bytes
    and more.

    A gather stays where something else reads its result as well, where a reader
    runs through its last dimension in another order than through its own
    result, where an op in between may write over the operand, and where nothing
    but the gathered tensor says how long a loop is.

    ```mlir
    func.func @main(%x: tensor<64x128xf32>, %rows: tensor<32xi32>, %w: tensor<32xf32>) -> tensor<32x128xf32> {
      %0 = tensor.empty() : tensor<32x128xf32>
      %1 = rt.gather <[64 by 1 at 0, 128 by 128 step 1] loop [32 : 1, 0, 128]>
             ins(%x, %rows : tensor<64x128xf32>, tensor<32xi32>) outs(%0 : tensor<32x128xf32>) -> tensor<32x128xf32>
      %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                                            affine_map<(d0, d1) -> (d0, d1)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%1, %w : tensor<32x128xf32>, tensor<32xf32>) outs(%0 : tensor<32x128xf32>) {
      ^bb0(%row: f32, %weight: f32, %out: f32):
        %3 = arith.mulf %row, %weight : f32
        linalg.yield %3 : f32
      } -> tensor<32x128xf32>
      return %2 : tensor<32x128xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<64x128xf32>, %rows: tensor<32xi32>, %w: tensor<32xf32>) -> tensor<32x128xf32> {
      %c128 = arith.constant 128 : index
      %c63_i32 = arith.constant 63 : i32
      %c0_i32 = arith.constant 0 : i32
      %0 = tensor.empty() : tensor<32x128xf32>
      %flat = tensor.collapse_shape %x [[0, 1]] : tensor<64x128xf32> into tensor<8192xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>,
                                            affine_map<(d0, d1) -> (d0, d1)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%rows, %w : tensor<32xi32>, tensor<32xf32>) outs(%0 : tensor<32x128xf32>) {
      ^bb0(%start: i32, %weight: f32, %out: f32):
        %2 = linalg.index 1 : index
        %3 = arith.maxsi %start, %c0_i32 : i32
        %4 = arith.minsi %3, %c63_i32 : i32
        %5 = arith.index_cast %4 : i32 to index
        %6 = arith.muli %5, %c128 : index
        %7 = arith.addi %6, %2 : index
        %extracted = tensor.extract %flat[%7] : tensor<8192xf32>
        %8 = arith.mulf %extracted, %weight : f32
        linalg.yield %8 : f32
      } -> tensor<32x128xf32>
      return %1 : tensor<32x128xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitProducts : Pass<"shoal-split-products", "::mlir::func::FuncOp"> {
  let summary = "Make large operands of products in parts";
  let description = [{
    An operand of an `rt.einsum` that holds no more than elements of other tensors,
    moved and repeated, such as the patches of a convolution, is not made at once
    where it takes, with what is padded for it, more than an eighth of what the
    product holds anyway: the tensors that it is made of, the other operand and the
    result. A loop computes some rows of the result in each step from a part of the
    operand, so many that the part takes no more. Of fewer than 64 rows a part may
    take half of that, and none has fewer than 16: the library reads the other
    operand again for each. Of the result's dimensions the first ones are split, as
    far as this operand alone has them and by numbers that divide their sizes: parts
    of the result are dense, and nothing is computed twice. What several products
    read is moved for each of them, as patches for a convolution and for the gradient
    of its kernel, which would hold them all the while between. For targets where
    calls are cheap.

    ```mlir
    func.func @f(%x: tensor<16x16x8xf32>, %w: tensor<3x8x16xf32>) -> tensor<16x14x16xf32> {
      %0 = tensor.empty() : tensor<16x14x3x8xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(b, r, k, i) -> (b, r + k, i)>, affine_map<(b, r, k, i) -> (b, r, k, i)>],
                           iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%x : tensor<16x16x8xf32>) outs(%0 : tensor<16x14x3x8xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<16x14x3x8xf32>
      %2 = tensor.empty() : tensor<16x14x16xf32>
      %3 = rt.einsum "brki,kio->bro" ins(%1, %w : tensor<16x14x3x8xf32>, tensor<3x8x16xf32>)
             outs(%2 : tensor<16x14x16xf32>) -> tensor<16x14x16xf32>
      return %3 : tensor<16x14x16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<16x16x8xf32>, %w: tensor<3x8x16xf32>) -> tensor<16x14x16xf32> {
      %0 = tensor.empty() : tensor<16x14x16xf32>
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c8 = arith.constant 8 : index
      %1 = scf.for %b = %c0 to %c16 step %c8 iter_args(%result = %0) -> (tensor<16x14x16xf32>) {
        %2 = tensor.extract_slice %x[%b, 0, 0] [8, 16, 8] [1, 1, 1] : tensor<16x16x8xf32> to tensor<8x16x8xf32>
        %3 = tensor.empty() : tensor<8x14x3x8xf32>
        %4 = linalg.generic {indexing_maps = [affine_map<(b, r, k, i) -> (b, r + k, i)>, affine_map<(b, r, k, i) -> (b, r, k, i)>],
                             iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
            ins(%2 : tensor<8x16x8xf32>) outs(%3 : tensor<8x14x3x8xf32>) {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<8x14x3x8xf32>
        %5 = tensor.extract_slice %result[%b, 0, 0] [8, 14, 16] [1, 1, 1] : tensor<16x14x16xf32> to tensor<8x14x16xf32>
        %6 = rt.einsum "brki,kio->bro" ins(%4, %w : tensor<8x14x3x8xf32>, tensor<3x8x16xf32>)
               outs(%5 : tensor<8x14x16xf32>) -> tensor<8x14x16xf32>
        %7 = tensor.insert_slice %6 into %result[%b, 0, 0] [8, 14, 16] [1, 1, 1] : tensor<8x14x16xf32> into tensor<16x14x16xf32>
        scf.yield %7 : tensor<16x14x16xf32>
      }
      return %1 : tensor<16x14x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def UnrollReductions : Pass<"shoal-unroll-reductions", "::mlir::func::FuncOp"> {
  let summary = "Make short reductions elementwise";
  let description = [{
    A `linalg.generic` on tensors that combines up to eight elements for each of
    its results loses its reduced loops: the body does their iterations one
    after another, in their order, from inputs that are the same tensor at
    fixed places. What follows can then be fused into it: the residual, the
    conversion to a narrower type. Reductions along rows stay, whose elements
    neighbouring threads should read, and those of windows.

    ```mlir
    func.func @main(%x: tensor<32x2x128xf32>, %zero: tensor<32x128xf32>) -> tensor<32x128xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
                                            affine_map<(d0, d1, d2) -> (d0, d2)>],
                           iterator_types = ["parallel", "reduction", "parallel"]}
          ins(%x : tensor<32x2x128xf32>) outs(%zero : tensor<32x128xf32>) {
      ^bb0(%in: f32, %sum: f32):
        %1 = arith.addf %sum, %in : f32
        linalg.yield %1 : f32
      } -> tensor<32x128xf32>
      return %0 : tensor<32x128xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<32x2x128xf32>, %zero: tensor<32x128xf32>) -> tensor<32x128xf32> {
      %0 = tensor.empty() : tensor<32x128xf32>
      %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
                                            affine_map<(d0, d1) -> (d0, 1, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x, %zero, %x : tensor<32x2x128xf32>, tensor<32x128xf32>, tensor<32x2x128xf32>)
          outs(%0 : tensor<32x128xf32>) {
      ^bb0(%first: f32, %initial: f32, %second: f32, %out: f32):
        %2 = arith.addf %initial, %first : f32
        %3 = arith.addf %2, %second : f32
        linalg.yield %3 : f32
      } -> tensor<32x128xf32>
      return %1 : tensor<32x128xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyFusion : Pass<"shoal-verify-fusion", "::mlir::ModuleOp"> {
  let summary = "Checks what linalg ops read through indices";
  let description = [{
    Fails where this does not hold of a `linalg.generic` on tensors: the phases
    behind rely on it. Changes nothing.

    * (C1) A `tensor.extract` of its body stands in the body itself, not inside
      of another op: kernels then know when it is loaded.

    ```mlir
    func.func @f(%x: tensor<4xf32>, %c: tensor<4xi1>, %out: tensor<4xf32>) -> tensor<4xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          ins(%c : tensor<4xi1>) outs(%out : tensor<4xf32>) {
      ^bb0(%is: i1, %old: f32):
        %i = linalg.index 0 : index
        %1 = scf.if %is -> f32 {
          %2 = tensor.extract %x[%i] : tensor<4xf32>
          scf.yield %2 : f32
        } else {
          scf.yield %old : f32
        }
        linalg.yield %1 : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    is an error:
    ```text
    f.mlir:7:12: error: 'tensor.extract' op stands inside of another op than the linalg.generic that it reads for
    ```
  }];
}

#endif // SHOAL_CONVERSION_FUSION_PASSES_TD

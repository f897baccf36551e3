// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_CONVERSION_PASSES_TD
#define SHOAL_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ShoalToLinalg : Pass<"shoal-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Lower a per-device program's shoal and spmd ops to linalg and runtime calls";
  let description = [{
    Einsums that contract become `rt.call "einsum"`; products without a sum,
    row-wise dot products and sums over one operand become `linalg.generic`, as
    do reductions (sums of bf16 and f16 in f32) and whatever moves elements.
    Scans, top_k and all collectives become `rt.call`. Elementwise `arith` and
    `math` on tensors stay as they are, for `--convert-elementwise-to-linalg`.

    The meshes and the arguments' `shoal.` attributes, which mean nothing on
    buffers, go away: whoever needs them reads them before.

    An op that belongs to a global program (an annotation, a composite, a
    reshard) is an error.

    ```mlir
    %y = shoal.cumulative sum %x dim = 1 : tensor<4x6xf32>
    ```
    becomes
    ```mlir
    %0 = tensor.empty() : tensor<4x6xf32>
    %y = rt.call "cumulative" [0, 0, 2, 4, 6, 1, 0, 0]
           ins(%x : tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::shoal::rt::RtDialect"
  ];
}

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
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
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
      %1 = rt.call "einsum" [0, 0, 3, 8, 12, 16, 2, 2, 0, 2, 2, 2, 1, 2, 0, 1]
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
      %1 = rt.call "einsum_bias" [1, 1, 1, 0, 0, 3, 8, 12, 16, 2, 2, 0, 2, 2, 2, 1, 2, 0, 1]
             ins(%x, %w, %b : tensor<8x16xf32>, tensor<16x12xf32>, tensor<12xf32>)
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
      %1 = rt.call "gather" [0, 5, 2, 64, 1, 0, 0, 128, 128, 1, -1, 1, 32, 1, 0, 128]
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

def GuardDivision : Pass<"shoal-guard-division"> {
  let summary = "Integer divisions never trap";
  let description = [{
    Divides by one where a scalar integer division has no quotient: by zero, or
    of the smallest number by -1. Processors trap there, and rows of padding may
    hold such numbers although no row of the program does. The value is
    unspecified, as `arith` says.

    ```mlir
    func.func @ratio(%a: i32, %b: i32) -> i32 {
      %q = arith.divui %a, %b : i32
      return %q : i32
    }
    ```
    becomes
    ```mlir
    func.func @ratio(%a: i32, %b: i32) -> i32 {
      %one = arith.constant 1 : i32
      %zero = arith.constant 0 : i32
      %none = arith.cmpi eq, %b, %zero : i32
      %safe = arith.select %none, %one, %b : i32
      %q = arith.divui %a, %safe : i32
      return %q : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def PrepareBuffers : Pass<"shoal-prepare-buffers", "::mlir::func::FuncOp"> {
  let summary = "Give every result its own initial tensor";
  let description = [{
    One `tensor.empty` or `linalg.fill` that several ops write into would make
    bufferization copy it. Each of its uses gets its own, and constants that are
    one value everywhere become fills rather than arrays in the object file.
    An op that reads a value element by element and is its only reader writes
    its result over it, as does the last reader of a donated argument for the
    result that goes there. Arguments are marked read-only, but for those that
    are donated: no op may write into an input.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::bufferization::BufferizationDialect"];
}

def ResultsToOutParams : Pass<"shoal-results-to-out-params", "::mlir::func::FuncOp"> {
  let summary = "Make a function's results in buffers that the caller gives";
  let description = [{
    Each result becomes a new last argument. A buffer that the function
    allocates and returns, also in another shape, is replaced by that argument;
    anything else (an input, a constant, a buffer returned twice) is copied.

    A result with a donated argument in `shoal.donors` is left where it is if
    that is the argument, or is made there if nothing touches the argument any
    more when the result's buffer begins; its new argument is then not written,
    and `shoal.donors` keeps the number. All others become -1.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def OverlapCollectives : Pass<"shoal-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "Begin collectives early and use their results late";
  let description = [{
    For targets that communicate in the background (`--shoal-insert-waits`):
    between a collective and the first op that waits for it come others that do
    not, as many as fill the time that it takes. A list scheduler goes through
    each block with two clocks, one of work and one of collectives: a collective
    begins as soon as its operands are there; then comes the op that waits
    least; of equals one that a later collective needs; of equals the first.
    Times are estimates from bytes and products. Collectives keep their order,
    which all devices must agree on. Nothing moves across loops, branches and
    functions of the user's.

    The arena grows by no more than a sixteenth of what the device holds, its
    arguments and results counted: an order whose plan needs more than that is
    tried again with ops moved less far, in the end with none.

    ```mlir
    func.func @main(%x: memref<4096xf32>, %z: memref<4096xf32>, %y: memref<4096xf32>, %w: memref<4096xf32>) {
      %sum = memref.alloc() : memref<4096xf32>
      rt.call "all_reduce" [0] ins(%x : memref<4096xf32>) outs(%sum : memref<4096xf32>) {collective = 0 : i64}
      linalg.exp ins(%sum : memref<4096xf32>) outs(%y : memref<4096xf32>)
      linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<4096xf32>, %z: memref<4096xf32>, %y: memref<4096xf32>, %w: memref<4096xf32>) {
      %sum = memref.alloc() : memref<4096xf32>
      rt.call "all_reduce" [0] ins(%x : memref<4096xf32>) outs(%sum : memref<4096xf32>) {collective = 0 : i64}
      linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
      linalg.exp ins(%sum : memref<4096xf32>) outs(%y : memref<4096xf32>)
      return
    }
    ```
  }];
}

def PlanMemory : Pass<"shoal-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Place all buffers in one arena at fixed offsets";
  let description = [{
    Every static `memref.alloc` of a public function's entry block becomes a
    view of an i8 arena, a new last argument. Buffers that are live at the same
    time do not overlap; they are placed largest first, each in the smallest
    gap that holds it, at multiples of 64 bytes. The function must have a single
    block and allocate nothing in nested regions.

    The function gets `shoal.arena_bytes`, the arena's size, and
    `shoal.live_bytes`, the largest sum of the buffers live at one time, a lower
    bound of it; and `shoal.memory_plan`, which says of each buffer where it is
    and from which op to which (shoal/Conversion/MemoryPlan.h), for reports.

    With `background`, of targets that communicate while other work runs, what a
    collective reads keeps its place until the first op that must wait for it,
    where the arena does not grow by more than a sixteenth of what the device
    holds; no op in between then waits because it would write there.
  }];
  let options = [
    Option<"background", "background", "bool", /*default=*/"false",
           "Whether collectives run while what comes behind them does">
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def OutlineKernels : Pass<"shoal-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Move every linalg op on memrefs to a function of its own";
  let description = [{
    A kernel's arguments are the distinct buffers that it touches, so that each
    can be `llvm.noalias`; reductions then run in registers and loops vectorize.
    Two views of one buffer, of which one is written, are not marked. Strided
    copies become kernels, too; dense ones stay `memref.copy`. The ops of an
    `rt.kernel` become one function.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect"];
}

def SplitReductions : Pass<"shoal-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Cut long reductions to few results into parts";
  let description = [{
    Of targets with many processors. Assumes linalg on memrefs. A reduction
    whose kernel would have few blocks for many iterations is cut along one of
    its reduced loops: each part is combined into a buffer of its own, then the
    parts with what the result held. A sum of 64 Mi numbers takes the whole
    device so. What is left over behind equal parts is reduced as before.
    Reductions whose order matters stay.

    ```mlir
    func.func @sum(%x: memref<4194304xf32>, %s: memref<f32>) {
      linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
                      iterator_types = ["reduction"]}
          ins(%x : memref<4194304xf32>) outs(%s : memref<f32>) {
      ^bb0(%in: f32, %sum: f32):
        %0 = arith.addf %sum, %in : f32
        linalg.yield %0 : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @sum(%arg0: memref<4194304xf32>, %arg1: memref<f32>) {
      %expand_shape = memref.expand_shape %arg0 [[0, 1]] output_shape [1024, 4096]
        : memref<4194304xf32> into memref<1024x4096xf32>
      %alloc = memref.alloc() : memref<1024xf32>
      linalg.generic ... iterator_types = ["parallel", "reduction"]}
        ins(%expand_shape : memref<1024x4096xf32>) outs(%alloc : memref<1024xf32>)
        attrs = {shoal.initial = [-0.000000e+00 : f32]} {
      ...
      linalg.generic ... iterator_types = ["reduction"]}
        ins(%alloc : memref<1024xf32>) outs(%arg1 : memref<f32>) {
      ...
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

def FuseFills : Pass<"shoal-fuse-fills", "::mlir::func::FuncOp"> {
  let summary = "Let reductions begin with constants instead of with filled buffers";
  let description = [{
    Assumes linalg on memrefs. Where a reduction is the next to touch a buffer
    that was filled with a constant, and combines into it, the fill goes away
    and `shoal.initial` on the reduction says what it begins with, for each
    result a constant or unit: a launch and a trip through memory less. For
    `--shoal-map-kernels`, which knows the attribute.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def FuseRows : Pass<"shoal-fuse-rows", "::mlir::func::FuncOp"> {
  let summary = "Let one kernel run the ops that work on the same rows";
  let description = [{
    Assumes linalg on memrefs. A reduction along rows and what follows it on the
    same rows (a softmax, a layer_norm, their gradients) go into one
    `rt.kernel`: other reductions, and ops whose loops are those of the rows and
    columns, or of the rows alone, each of which reads what the kernel has
    already. A buffer that nothing else uses becomes a `memref.alloca`, which has
    no memory: its elements stay in registers. Reductions begin with
    constants (`shoal.initial`, see `--shoal-fuse-fills`), or with what the kernel
    has computed.

    Not where rows are too long for registers, or so few that their blocks would
    leave a device idle: such reductions are for `--shoal-split-reductions`. What
    is in a kernel, and which threads run it, is decided by `analyzeRowGroup`,
    which `--shoal-map-kernels` asks again.

    ```mlir
    func.func @main(%x: memref<256x1024xf32>, %y: memref<256x1024xf32>) {
      %sums = memref.alloc() : memref<256xf32>
      linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
                      iterator_types = ["parallel", "reduction"]}
          ins(%x : memref<256x1024xf32>) outs(%sums : memref<256xf32>)
          attrs = {shoal.initial = [0.0 : f32]} {
      ^bb0(%in: f32, %out: f32):
        %sum = arith.addf %in, %out fastmath<reassoc> : f32
        linalg.yield %sum : f32
      }
      linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
                      iterator_types = ["parallel", "parallel"]}
          ins(%x, %sums : memref<256x1024xf32>, memref<256xf32>) outs(%y : memref<256x1024xf32>) {
      ^bb0(%in: f32, %sum: f32, %out: f32):
        %part = arith.divf %in, %sum : f32
        linalg.yield %part : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<256x1024xf32>, %y: memref<256x1024xf32>) {
      rt.kernel {
        %sums = memref.alloca() : memref<256xf32>
        linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
                        iterator_types = ["parallel", "reduction"]}
            ins(%x : memref<256x1024xf32>) outs(%sums : memref<256xf32>)
            attrs = {shoal.initial = [0.0 : f32]} {
        ^bb0(%in: f32, %out: f32):
          %sum = arith.addf %in, %out fastmath<reassoc> : f32
          linalg.yield %sum : f32
        }
        linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
                        iterator_types = ["parallel", "parallel"]}
            ins(%x, %sums : memref<256x1024xf32>, memref<256xf32>) outs(%y : memref<256x1024xf32>) {
        ^bb0(%in: f32, %sum: f32, %out: f32):
          %part = arith.divf %in, %sum : f32
          linalg.yield %part : f32
        }
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::shoal::rt::RtDialect"];
}

def MapKernels : Pass<"shoal-map-kernels", "::mlir::ModuleOp"> {
  let summary = "Map outlined linalg ops to GPU kernels";
  let description = [{
    Assumes what `--shoal-outline-kernels` leaves: private functions of one
    linalg op, or of those of an `rt.kernel`, on static memrefs, which share no buffers but those that are not
    `llvm.noalias`. Each becomes a `gpu.func` of `gpu.module @shoal_kernels`,
    equal ones a single one, and each call `rt.call "launch"`, whose descriptor
    names the kernel by its number in the module, and the bytes that it touches.
    Ops of no iterations disappear.

    The loops alone decide a kernel's shape, which stands in its
    `shoal.schedule`: a map, a map through tiles of shared memory, a reduction
    along rows or along columns, one thread per element of the result, or
    several ops on the same rows. A
    thread takes neighbouring elements, 16 bytes of the widest operand, where
    sizes and alignment allow. Indices are 32 bits wide where that is enough.

    ```mlir
    func.func @main(%x: memref<8x128xf32>) {
      call @main_kernel_0(%x) : (memref<8x128xf32>) -> ()
      return
    }
    func.func private @main_kernel_0(%x: memref<8x128xf32> {llvm.noalias}) {
      %zero = arith.constant 0.0 : f32
      linalg.fill ins(%zero : f32) outs(%x : memref<8x128xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%arg0: memref<8x128xf32>) {
      rt.call "launch" [0, 1, 1, 1, 256, 1, 1, 0, 1, 0, 4096, 2] outs(%arg0 : memref<8x128xf32>)
      return
    }
    gpu.module @shoal_kernels {
      gpu.func @main_kernel_0(%arg0: memref<1024xf32> {llvm.noalias}) kernel ...
        %thread_id_x = gpu.thread_id  x
        ...
        vector.store %8, %arg0[%9] {alignment = 16 : i64} : memref<1024xf32>, vector<4xf32>
    ```
  }];
  let options = [
    Option<"maxBlocks", "max-blocks", "int64_t", /*default=*/"2147483647",
           "The most blocks of a grid; kernels that need more take several turns.">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::shoal::rt::RtDialect"
  ];
}

def KernelsToFunctions : Pass<"shoal-kernels-to-functions", "::mlir::ModuleOp"> {
  let summary = "Turn gpu.funcs into functions for the emulated device";
  let description = [{
    A kernel becomes a function of its parameters and of a pointer to a
    `shoal_emulated_thread` (shoal/Runtime/EmulatedKernel.h), from which it reads
    where its thread stands. Barriers, shuffles of i32 and shared memory become
    calls of the emulator. Modules of kernels go away.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def ExportEmulatedKernels : Pass<"shoal-export-emulated-kernels", "::mlir::ModuleOp"> {
  let summary = "Export kernels as the emulated device calls them";
  let description = [{
    Assumes that functions of `--shoal-kernels-to-functions` have been lowered to
    LLVM's dialect. Each gets an exported function of its name, a
    `shoal_emulated_kernel`, which takes the parameters from an array.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def TileTransposes : Pass<"shoal-tile-transposes", "::mlir::func::FuncOp"> {
  let summary = "Run through transposed operands in square tiles";
  let description = [{
    Assumes linalg on memrefs. Where an operand of an elementwise op is
    contiguous along another loop than the innermost one, both loops are tiled
    by 16. Reductions stay as they are.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def ApproximateMath : Pass<"shoal-approximate-math"> {
  let summary = "Replace f32 math functions by polynomials";
  let description = [{
    exp, expm1, log, log1p, log2, tanh and erf of f32 (and of bf16 and f16, in
    f32) become polynomials, which vectorize and have a relative error below
    3e-7. log and log2 take denormal numbers for the smallest normal one. Other
    functions, and all of f64, are left to the math library.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandMath : Pass<"shoal-expand-math"> {
  let summary = "Write out math functions that libraries do not have";
  let description = [{
    `math.isinf`, `math.clampf` and `math.ipowi` on scalars become `arith`; a
    power becomes a loop over the bits of its exponent.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def ExpandNarrowFloats : Pass<"shoal-expand-narrow-floats"> {
  let summary = "Write out the conversions of bf16 and f8, and round after every operation";
  let description = [{
    Assumes scalar code in which `--arith-emulate-unsupported-floats` has put
    the arithmetic of floats of 16 and 8 bits between extensions to f32 and
    roundings. No rounding is left out, so that values do not depend on fusion.
    Conversions of bf16 become integer operations (the compiler's support
    library may lack them), and those of f8E4M3FN and f8E5M2 do (LLVM has no
    such types); those from f64 have a single rounding. What is too large for
    f8E4M3FN becomes NaN.
  }];
  let options = [
    Option<"keepConversions", "keep-conversions", "bool", /*default=*/"false",
           "The target converts between bf16 and f32 itself.">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def StoreBF16AsI16 : Pass<"shoal-store-bf16-as-i16", "::mlir::ModuleOp"> {
  let summary = "Hold bf16 values in i16";
  let description = [{
    Assumes LLVM's dialect, in which no arithmetic on bf16 is left. A back end
    without bf16 would move even a plain `select` through f32 and call a
    support function that older compilers' libraries lack.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def UseDeviceMemory : Pass<"shoal-use-device-memory", "::mlir::ModuleOp"> {
  let summary = "What the host did with buffers itself, the runtime does on the device";
  let description = [{
    For targets whose buffers the host cannot reach. Assumes a planned program
    whose loops are kernels: copies become `rt.call "copy"`, the loads that
    decide about loops and branches `rt.read_scalar`, constants places at the
    arena's end, which the runtime fills once.

    The function gets `shoal.constant_bytes`, each `memref.global` its place,
    `shoal.arena_offset`.

    ```mlir
    func.func @main(%in: memref<6xf32>, %out: memref<6xf32>, %arena: memref<0xi8>)
        attributes {shoal.arena_bytes = 0 : i64, shoal.live_bytes = 0 : i64} {
      memref.copy %in, %out : memref<6xf32> to memref<6xf32>
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%in: memref<6xf32>, %out: memref<6xf32>, %arena: memref<0xi8>)
        attributes {shoal.arena_bytes = 0 : i64, shoal.constant_bytes = 0 : i64, shoal.live_bytes = 0 : i64} {
      rt.call "copy" [24] ins(%in : memref<6xf32>) outs(%out : memref<6xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::shoal::rt::RtDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def InsertWaits : Pass<"shoal-insert-waits", "::mlir::func::FuncOp"> {
  let summary = "Wait for collectives where their buffers are used";
  let description = [{
    For targets that communicate in the background: a call with a `collective`
    only begins it. Before the first op that touches bytes that one under way
    writes, or writes bytes that it reads, and before loops, branches and ends
    of blocks, `rt.wait` waits. Collectives themselves wait for nothing: they
    run in the order of the program, behind all work that comes before them.

    ```mlir
    func.func @main(%x: memref<24xf32>, %y: memref<24xf32>, %sum: memref<24xf32>, %result: memref<24xf32>) {
      rt.call "all_reduce" [0, 0, 0, 0, 24, 1, 0, 1, 2]
        ins(%x : memref<24xf32>) outs(%sum : memref<24xf32>) {collective = 0 : i64}
      rt.call "copy" [96] ins(%x : memref<24xf32>) outs(%y : memref<24xf32>)
      rt.call "copy" [96] ins(%sum : memref<24xf32>) outs(%result : memref<24xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<24xf32>, %y: memref<24xf32>, %sum: memref<24xf32>, %result: memref<24xf32>) {
      rt.call "all_reduce" [0, 0, 0, 0, 24, 1, 0, 1, 2]
        ins(%x : memref<24xf32>) outs(%sum : memref<24xf32>) {collective = 0 : i64}
      rt.call "copy" [96] ins(%x : memref<24xf32>) outs(%y : memref<24xf32>)
      rt.wait 0
      rt.call "copy" [96] ins(%sum : memref<24xf32>) outs(%result : memref<24xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::shoal::rt::RtDialect"];
}

def LowerRuntimeCalls : Pass<"shoal-lower-runtime-calls", "::mlir::ModuleOp"> {
  let summary = "Lower rt.call on memrefs to calls of the runtime's C functions";
  let description = [{
    `rt.call "name" desc ins(..) outs(..)` becomes `llvm.call @shoal_rt_name`
    with the address of a constant array that holds `desc`, then the buffers'
    addresses; `rt.wait` and `rt.read_scalar` become calls as well.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // SHOAL_CONVERSION_PASSES_TD

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How products are computed, in which order ops run, and where their buffers
// lie.

#ifndef SHOAL_CONVERSION_MEMORY_PASSES_TD
#define SHOAL_CONVERSION_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Conversion/Utils/MachineOption.td"

def PlaceRows : Pass<"shoal-place-rows", "::mlir::func::FuncOp"> {
  let summary = "Let rows that the run chooses be read and made where they lie";
  let description = [{
    A loop reads a row of its parameters in each trip, and of what was kept for
    its reverse, and writes one of what it keeps. An `rt.gather` of one dense
    window becomes a view (`rt.rows`), which the row's readers read, where nothing
    writes the buffer until the last of them has run. An `rt.scatter` of one
    dense window, clamped and without a kind, goes: its updates are made in the
    buffer, where nothing touches the buffer between their beginning and the
    call, the window's place is known as early, and nobody writes them or the
    buffer while they are still read.

    Rows begin at multiples of 64 bytes as buffers do, or they are copied. All
    that is known of rows is the buffer that they are in: who asks whether two
    overlap is told that rows are all of it. For CPUs: on a device only the
    device knows the place.

    ```mlir
    func.func @f(%x: memref<8x16xf32>, %i: memref<1xi32>, %y: memref<1x16xf32> {shoal.result}) {
      %0 = memref.alloc() : memref<1x16xf32>
      rt.gather <[8 by 1 at 0, 16 by 16 step 1]> ins(%x, %i : memref<8x16xf32>, memref<1xi32>) outs(%0 : memref<1x16xf32>)
      linalg.exp ins(%0 : memref<1x16xf32>) outs(%y : memref<1x16xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<8x16xf32>, %i: memref<1xi32>, %y: memref<1x16xf32> {shoal.result}) {
      %c0 = arith.constant 0 : index
      %0 = memref.load %i[%c0] : memref<1xi32>
      %c0_i32 = arith.constant 0 : i32
      %1 = arith.maxsi %0, %c0_i32 : i32
      %c7_i32 = arith.constant 7 : i32
      %2 = arith.minsi %1, %c7_i32 : i32
      %3 = arith.index_cast %2 : i32 to index
      %c16 = arith.constant 16 : index
      %4 = arith.muli %3, %c16 : index
      %5 = rt.rows %x[%4] : memref<8x16xf32> to memref<1x16xf32>
      linalg.exp ins(%5 : memref<1x16xf32>) outs(%y : memref<1x16xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def ReuseBuffers : Pass<"shoal-reuse-buffers", "::mlir::func::FuncOp"> {
  let summary = "Let ops write over what they are the last to read";
  let description = [{
    A buffer that an op reads for the last time, and one that it writes for the
    first time, become one where the op reads each element before it writes over
    it: a `linalg.generic` whose maps of the two are the same permutation of its loops,
    and a call of the runtime that says so
    (shoal/Dialect/Rt/IR/InPlace.h). Both are buffers of their own,
    of as many bytes, that nothing sees a part of; what is written may also be a
    result (`shoal.result`).

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32> {shoal.result}) {
      %0 = memref.alloc() : memref<8xf32>
      linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
      rt.all_reduce sum @mesh {"x"} ins(%0 : memref<8xf32>) outs(%y : memref<8xf32>) {collective = 0 : i64}
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32> {shoal.result}) {
      linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      rt.all_reduce sum @mesh {"x"} ins(%y : memref<8xf32>) outs(%y : memref<8xf32>) {collective = 0 : i64}
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def PlanProducts : Pass<"shoal-plan-products", "::mlir::func::FuncOp"> {
  let summary = "Decide how each product of two tensors is computed";
  let description = [{
    Gives each `rt.einsum` a plan (#rt.product_plan): by matrix products of the
    machine's library, in loops, around which parts of tensors may be copied, or
    by loops alone. All choices of what is copied and which loops the library
    takes are priced by a model of time (shoal/Products/GemmPlan.h), and the
    cheapest is taken. What is behind the sums, and whether it is on tensors or
    buffers, does not matter.

    A CPU may have oneDNN beside its BLAS; which of them a product is for is a
    part of the plan (shoal/Products/OneDNN.h, docs/internals/Products.md).

    A plan that is there stays, so that one can be written by hand; one for the
    other kind of machine is an error. Products of `rt.ragged_einsum` are planned
    when their rows are counted, by the runtime, with the same functions.

    ```mlir
    func.func @f(%x: memref<8x512x256xf32>, %w: memref<8x256x1024xf32>, %y: memref<8x512x1024xf32>) {
      rt.einsum "EBI,EIO->EBO" ins(%x, %w : memref<8x512x256xf32>, memref<8x256x1024xf32>) outs(%y : memref<8x512x1024xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<8x512x256xf32>, %w: memref<8x256x1024xf32>, %y: memref<8x512x1024xf32>) {
      rt.einsum "EBI,EIO->EBO" ins(%x, %w : memref<8x512x256xf32>, memref<8x256x1024xf32>) outs(%y : memref<8x512x1024xf32>) plan <gpu gemm 512x1024x256 a [256, 1] b [1024, 1] c [1024, 1] batch [8 : 131072, 262144, 524288]>
      return
    }
    ```
  }];
  let options = [
    MachineOption,
    Option<"oneDNN", "onednn", "::shoal::OneDNN",
           /*default=*/"::shoal::OneDNN::None",
           "What a CPU has oneDNN for", [{::llvm::cl::values(
             clEnumValN(::shoal::OneDNN::None, "none", "Nothing"),
             clEnumValN(::shoal::OneDNN::F32, "f32", "Products of f32"),
             clEnumValN(::shoal::OneDNN::BF16, "bf16", "Of f32 and bf16"))}]>
  ];
}

def AddScratch : Pass<"shoal-add-scratch", "::mlir::func::FuncOp"> {
  let summary = "Give runtime calls the memory that they have for their own length";
  let description = [{
    What a call packs, receives or sorts in is a buffer like others: it gets an
    operand `scratch` of as many bytes as it says that it needs
    (`RuntimeCallOpInterface::getScratchBytes`) on the machine.
    `--shoal-plan-memory` then places it, and what the plan says is all that a
    step holds.

    On a CPU it is there while the call runs. On a device, where collectives run
    in the background, calls in regions share: of an op of the entry block with
    regions, all collectives have one buffer, all others another, each as large as
    the largest of them needs, so that collectives wait for no other work.

    ```mlir
    func.func @main(%x: memref<1024xf32>, %i: memref<1024xi32>, %y: memref<1024xf32>, %j: memref<1024xi32>) {
      rt.sort keys 1 dim 0 ins(%x, %i : memref<1024xf32>, memref<1024xi32>)
        outs(%y, %j : memref<1024xf32>, memref<1024xi32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<1024xf32>, %i: memref<1024xi32>, %y: memref<1024xf32>, %j: memref<1024xi32>) {
      %scratch = memref.alloc() : memref<32768xi8>
      rt.sort keys 1 dim 0 ins(%x, %i : memref<1024xf32>, memref<1024xi32>)
        outs(%y, %j : memref<1024xf32>, memref<1024xi32>) scratch(%scratch : memref<32768xi8>)
      return
    }
    ```
  }];
  let options = [MachineOption];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def OverlapMemoryOption : Option<"memory", "memory", "double", /*default=*/"kOverlapMemory",
  "How much more a device may hold so that collectives run beside kernels, in "
  "parts of all that it holds; 0: ops keep their order">;

def OverlapCollectives : Pass<"shoal-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "Begin collectives early and use their results late";
  let description = [{
    For targets that communicate in the background (`--shoal-insert-waits`):
    between a collective and the first op that waits for it come others that do
    not, as many as fill the time that it takes. A list scheduler goes through
    each block with a clock of work and one for each level of links: a collective
    begins as soon as its operands are there; then comes the op that waits
    least; of equals one that a later collective needs, of several such the
    one behind fewer long collectives, so that independent chains of ops, as of
    two micro-batches, go on in turns; of equals the first. Of collectives, too, those
    behind fewer come first: the order is the program's, so all devices agree on
    it. Long is what takes a quarter of the longest one's time or more: chains
    that took turns at each short one would come to their long ones together.
    Nobody runs what is used only three long collectives later. Nothing moves
    across loops and branches.

    Times are those of a machine file, where one is given (`--machine`,
    `--simulate`), by the prices of its simulation; else estimates from bytes
    and products.

    The arena grows by no more than `memory` times what the device holds, its
    arguments and results counted. An order whose plan needs more is tried again
    so that an op comes before its turn only where no more is live then, and
    until its turn if all others follow in their first order; where its plan
    still has gaps beyond that, with less memory, then with ops moved less far,
    in the end with none.

    ```mlir
    func.func @main(%x: memref<4096xf32>, %z: memref<4096xf32>, %y: memref<4096xf32>, %w: memref<4096xf32>) {
      %sum = memref.alloc() : memref<4096xf32>
      rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%sum : memref<4096xf32>) {collective = 0 : i64}
      linalg.exp ins(%sum : memref<4096xf32>) outs(%y : memref<4096xf32>)
      linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<4096xf32>, %z: memref<4096xf32>, %y: memref<4096xf32>, %w: memref<4096xf32>) {
      %sum = memref.alloc() : memref<4096xf32>
      rt.all_reduce sum @mesh {"x"} ins(%x : memref<4096xf32>) outs(%sum : memref<4096xf32>) {collective = 0 : i64}
      linalg.exp ins(%z : memref<4096xf32>) outs(%w : memref<4096xf32>)
      linalg.exp ins(%sum : memref<4096xf32>) outs(%y : memref<4096xf32>)
      return
    }
    ```
  }];
  let options = [MachineOption, OverlapMemoryOption];
}

def PlanMemory : Pass<"shoal-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Place all buffers at fixed offsets of results' memory and one arena";
  let description = [{
    Every static `memref.alloc` of a public function's entry block becomes a
    view of an i8 arena, a new last argument. Buffers that are live at the same
    time do not overlap; they are placed largest first, or those first that are large
    for long if less memory is needed then, each in the smallest gap that holds it,
    at multiples of 64 bytes. The function must have a single
    block and allocate nothing in nested regions.

    Results (`shoal.result`) of at least 1024 bytes lie one behind the other in
    one piece of memory, an i8 argument in front of the arena: each is live from
    its first use to the end of the function, and what dies before has its place
    there as it would in the arena. A result's own argument is then not used and
    has its place in `shoal.result_offset`; smaller results stay in theirs.

    What ends in a copy to a part of another buffer, dense and at a multiple of 64
    bytes that nothing else touches meanwhile, lies there from the beginning, and the copy
    goes: the tensors of a concatenation along rows. What they are joined in is then live piece by
    piece, each row from where it begins to be made; until then others lie there. Where gaps
    between buffers would take more than the copies save, they are copied.

    The function gets `shoal.result_bytes`, where there are such results, and
    `shoal.arena_bytes`, the sizes of the two; `shoal.live_bytes`, the largest sum
    of the buffers and results live at one time, a lower bound of their sum; and
    `shoal.memory_plan`, which says of each buffer where it is and from which op
    to which (shoal/Conversion/Memory/MemoryPlan.h), for reports.

    With `background`, of targets that communicate while other work runs, what a
    collective reads keeps its place until the first op that must wait for it,
    where the arena does not grow by more than `memory` times what the device
    holds; no op in between then waits because it would write there.

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
      %0 = memref.alloc() : memref<8xf32>
      linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
      linalg.abs ins(%0 : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %arena: memref<64xi8>) attributes {shoal.arena_bytes = 64 : i64, ...
      %c0 = arith.constant 0 : index
      %0 = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
      linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
      linalg.abs ins(%0 : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    ```
  }];
  let options = [
    Option<"background", "background", "bool", /*default=*/"false",
           "Whether collectives run while what comes behind them does">,
    OverlapMemoryOption
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def VerifyMemory : Pass<"shoal-verify-memory", "::mlir::ModuleOp"> {
  let summary = "Checks that buffers that live at the same time lie apart";
  let description = [{
    Fails where one of these does not hold of a function with a plan of its
    memory. Changes nothing.

    * (C1) It allocates nothing.
    * (C2) Its views of the results' memory and of the arena lie in them, at
      multiples of 64 bytes.
    * (C3) So do the buffers of `shoal.memory_plan`; no two of them overlap that
      live at the same time.
    * (C4) `shoal.live_bytes` is the largest sum of those that do.
    * (C5) Every `rt.einsum` has a plan.
    * (C6) A result with a `shoal.result_offset` is there until the last step, in
      one buffer or in several, and its own argument is not used.

    ```mlir
    func.func @f(%arena: memref<128xi8>) attributes {
        shoal.arena_bytes = 128 : i64, shoal.live_bytes = 192 : i64,
        shoal.memory_plan = {buffers = [[array<i64: 0, 128, 0, 1>, memref<32xf32>],
                                        [array<i64: 64, 64, 1, 1>, memref<16xf32>]],
                             steps = [loc(unknown), loc(unknown)]}} {
      return
    }
    ```
    is an error:
    ```text
    f.mlir:1:1: error: 'func.func' op has a plan of its memory in which buffers 0 and 1 overlap and live at the same time
    ```
  }];
}

#endif // SHOAL_CONVERSION_MEMORY_PASSES_TD

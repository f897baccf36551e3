// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From linalg ops to functions, or to kernels of a GPU and their launches.

#ifndef SHOAL_CONVERSION_KERNELS_PASSES_TD
#define SHOAL_CONVERSION_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Conversion/Utils/MachineOption.td"

def ExpandProducts : Pass<"shoal-expand-products", "::mlir::func::FuncOp"> {
  let summary = "Products that are planned as loops become loops of the program";
  let description = [{
    For CPUs. Assumes planned products on buffers. A product whose plan is
    `loops`, of elements that are of the type that is computed in, becomes an op
    of linalg that adds to zeros; all others stay calls of the runtime. Vectors
    run along the last dimension of the result where both operands are dense
    along it or have it not, and along the sum elsewhere.

    ```mlir
    func.func @f(%x: memref<8x4xf32>, %w: memref<4x6xf32>, %y: memref<8x6xf32>) {
      rt.einsum "ik,kj->ij" ins(%x, %w : memref<8x4xf32>, memref<4x6xf32>) outs(%y : memref<8x6xf32>)
          plan <cpu loops [8 : 4, 0, 6] [6 : 0, 1, 1] over [4 : 1, 6, 0]>
      return
    }
    ```
    becomes
    ```mlir
    ...
    linalg.fill ins(%cst : f32) outs(%y : memref<8x6xf32>)
    linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x, %w : memref<8x4xf32>, memref<4x6xf32>) outs(%y : memref<8x6xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %0 = arith.mulf %in, %in_0 fastmath<contract> : f32
      %1 = arith.addf %out, %0 fastmath<contract> : f32
      linalg.yield %1 : f32
    }
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect"];
}

def GroupRows : Pass<"shoal-group-rows", "::mlir::func::FuncOp"> {
  let summary = "Make one kernel of ops that work on the same rows";
  let description = [{
    For CPUs. Assumes linalg on static memrefs whose places in memory are
    known. Ops whose outer loops are parallel and alike, and which touch the
    same buffers row by row (a softmax, a layer_norm, their gradients), go into
    one `rt.kernel`, in the place of the last of them. Threads then run all of
    them on some rows before they go on to others, with the rows in their caches
    (`--shoal-tile-for-threads`): what is larger than these is read from memory
    once, not by each op.

    What one op writes others touch in the same rows alone, and as the same
    memref. Not where all that is shared is in the caches anyway, where rows are
    too long for them, or where ops read across rows.

    ```mlir
    func.func @main(%x: memref<4096x1024xf32>, %m: memref<4096xf32>, %y: memref<4096x1024xf32>) {
      linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
                      iterator_types = ["parallel", "reduction"]}
          ins(%x : memref<4096x1024xf32>) outs(%m : memref<4096xf32>) {
      ^bb0(%in: f32, %out: f32):
        %max = arith.maximumf %in, %out : f32
        linalg.yield %max : f32
      }
      linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
                      iterator_types = ["parallel", "parallel"]}
          ins(%x, %m : memref<4096x1024xf32>, memref<4096xf32>) outs(%y : memref<4096x1024xf32>) {
      ^bb0(%in: f32, %max: f32, %out: f32):
        %d = arith.subf %in, %max : f32
        linalg.yield %d : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    ...
    rt.kernel {
      linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : memref<4096x1024xf32>) outs(%arg1 : memref<4096xf32>) {
      ...
      linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : memref<4096x1024xf32>, memref<4096xf32>) outs(%arg2 : memref<4096x1024xf32>) {
      ...
    }
    ...
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::shoal::rt::RtDialect"];
}

def OutlineKernels : Pass<"shoal-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Move every linalg op on memrefs to a function of its own";
  let description = [{
    A kernel's arguments are the distinct buffers that it touches, so that each
    can be `llvm.noalias`; reductions then run in registers and loops vectorize.
    Two views of one buffer, of which one is written, are not marked. Strided
    copies become kernels, too; dense ones stay `memref.copy`, but with
    `threads` for those that are long enough to be shared. The ops of an
    `rt.kernel` become one function.

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
      linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
      call @f_kernel_0(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
      return
    }
    func.func private @f_kernel_0(%x: memref<8xf32> {llvm.noalias, llvm.readonly}, %y: memref<8xf32> {llvm.noalias}) {
      linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect"];
  let options = [
    Option<"threads", "threads", "bool", "false",
           "Whether tiles of kernels run on several threads: long copies become kernels">
  ];
}

def TileForThreads : Pass<"shoal-tile-for-threads", "::mlir::func::FuncOp"> {
  let summary = "Cut kernels into tiles that threads may run at the same time";
  let description = [{
    Assumes what `--shoal-outline-kernels` leaves: private functions of
    linalg ops on static memrefs. Where an op costs enough, its parallel loops
    are cut into tiles, the outermost ones first, and `scf.parallel` goes over
    these. Of several ops, which `--shoal-group-rows` has put together, rows are
    cut, and a tile runs one after another. What a tile costs, as the bytes that
    take as long to move, is the loops' `shoal.tile_bytes`. Only what is written to nothing but
    `llvm.noalias` arguments is cut. Reductions are not cut, and tiles are the
    same for all numbers of threads: so are results.

    What a tile takes of an operand follows from the operand's map: the rows of
    all windows in the tile, the last rows first where it is read backwards. A
    loop that an operand runs against has tiles of one size, or none; one that an
    operand does not follow step by step is not cut.

    ```mlir
    func.func private @kernel(%x: memref<1024x256xf32> {llvm.noalias, llvm.readonly},
                              %y: memref<1024x256xf32> {llvm.noalias}) {
      linalg.exp ins(%x : memref<1024x256xf32>) outs(%y : memref<1024x256xf32>)
      return
    }
    ```
    becomes
    ```mlir
    ...
    scf.parallel (%i) = (%c0) to (%c1024) step (%c16) {
      %0 = memref.subview %x[%i, 0] [16, 256] [1, 1] : memref<1024x256xf32> to memref<16x256xf32, strided<[256, 1], offset: ?>>
      %1 = memref.subview %y[%i, 0] [16, 256] [1, 1] : memref<1024x256xf32> to memref<16x256xf32, strided<[256, 1], offset: ?>>
      linalg.exp ins(%0 : memref<16x256xf32, strided<[256, 1], offset: ?>>) outs(%1 : memref<16x256xf32, strided<[256, 1], offset: ?>>)
      scf.reduce
    } {shoal.tile_bytes = 32768 : i64}
    ...
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def OutlineTiles : Pass<"shoal-outline-tiles", "::mlir::ModuleOp"> {
  let summary = "Move loops over tiles to functions of a range of them";
  let description = [{
    Assumes loops over elements within the `scf.parallel` of
    `--shoal-tile-for-threads`. The kernel's body becomes a function of the
    numbers of the first tile and of that behind the last, which has the
    `shoal.tile_bytes`, and the kernel a call of it on all tiles: as it stands it
    runs on one thread. `--shoal-share-tiles` gives it to more.

    ```mlir
    func.func private @kernel(%x: memref<1024xf32> {llvm.noalias}) {
      %c0 = arith.constant 0 : index
      %c512 = arith.constant 512 : index
      %c1024 = arith.constant 1024 : index
      %zero = arith.constant 0.0 : f32
      scf.parallel (%i) = (%c0) to (%c1024) step (%c512) {
        memref.store %zero, %x[%i] : memref<1024xf32>
        scf.reduce
      } {shoal.tile_bytes = 2048 : i64}
      return
    }
    ```
    becomes
    ```mlir
    func.func private @kernel(%arg0: memref<1024xf32> {llvm.noalias}) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      call @kernel_tiles(%c0, %c2, %arg0) : (index, index, memref<1024xf32>) -> ()
      return
    }
    func.func private @kernel_tiles(%arg0: index, %arg1: index, %arg2: memref<1024xf32> {llvm.noalias}) attributes {shoal.tile_bytes = 2048 : i64} {
      ...
      scf.for %arg3 = %arg0 to %arg1 step %c1 {
      ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::scf::SCFDialect"];
}

def TileTransposes : Pass<"shoal-tile-transposes", "::mlir::func::FuncOp"> {
  let summary = "Run through transposed operands in square tiles";
  let description = [{
    Assumes linalg on memrefs. Where an operand of an elementwise op is
    contiguous along another loop than the innermost one, both loops are tiled
    by 16; what is no whole tile is an op of its own. Reductions stay as they
    are.

    ```mlir
    func.func @f(%x: memref<64x32xf32>, %y: memref<32x64xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                      iterator_types = ["parallel", "parallel"]}
          ins(%x : memref<64x32xf32>) outs(%y : memref<32x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    ...
    scf.for %i = %c0 to %c32 step %c16 {
      scf.for %j = %c0 to %c64 step %c16 {
        %0 = memref.subview %x[%j, %i] [16, 16] [1, 1] : memref<64x32xf32> to memref<16x16xf32, strided<[32, 1], offset: ?>>
        %1 = memref.subview %y[%i, %j] [16, 16] [1, 1] : memref<32x64xf32> to memref<16x16xf32, strided<[64, 1], offset: ?>>
        linalg.generic ... ins(%0 : memref<16x16xf32, strided<[32, 1], offset: ?>>) outs(%1 : memref<16x16xf32, strided<[64, 1], offset: ?>>) {
    ...
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def VectorizeTransposes : Pass<"shoal-vectorize-transposes", "::mlir::func::FuncOp"> {
  let summary = "Read transposed tiles by whole lines";
  let description = [{
    Follows `--shoal-tile-transposes`. A transposed operand of a tile of 16 x 16
    is read line by line, transposed in registers by shuffles, and written to
    the result, or, where the op computes, to a tile that it reads instead:
    reading it element by element would take a gather or a scatter of 16 lines
    for each line of the tile.

    ```mlir
    func.func @f(%x: memref<16x16xf32>, %y: memref<16x16xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                      iterator_types = ["parallel", "parallel"]}
          ins(%x : memref<16x16xf32>) outs(%y : memref<16x16xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    ...
    %0 = vector.load %x[%c0, %c0] : memref<16x16xf32>, vector<16xf32>
    ...
    vector.shuffle
    ...
    vector.store
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"];
}

def JamReductions : Pass<"shoal-jam-reductions", "::mlir::func::FuncOp"> {
  let summary = "Reduce several rows in one pass over the result";
  let description = [{
    For CPUs. Assumes linalg on memrefs of static shapes. An op with kept loops
    inside of its last reduced one goes over the result once for each row: as
    many reads and writes of the result as there are elements. It becomes loops
    that combine up to eight rows with each element before they go on to the
    next one, fewer where several operands have rows. Memory sees as many
    streams at a time.

    The order in which an element is combined with others stays. Ops that store
    something in each row stay as well.

    ```mlir
    func.func @columns(%x: memref<1024x512xf32>, %y: memref<512xf32>) {
      linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>],
                      iterator_types = ["reduction", "parallel"]}
          ins(%x : memref<1024x512xf32>) outs(%y : memref<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %sum = arith.addf %out, %in : f32
        linalg.yield %sum : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    ...
    scf.for %row = %c0 to %c1024 step %c8_2 {
      scf.for %column = %c0_0 to %c512 step %c1_1 {
        ...
        %2 = memref.load %x[%0, %1] : memref<1024x512xf32>
        %3 = affine.apply #map(%column)
        %4 = memref.load %y[%3] : memref<512xf32>
        %5 = affine.apply #map(%column)
        %6 = arith.addf %4, %2 : f32
        memref.store %6, %y[%5] : memref<512xf32>
        ...
      }
    }
    ...
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def OrderSums : Pass<"shoal-order-sums", "::mlir::func::FuncOp"> {
  let summary = "Fix the order in which a CPU adds up the terms of sums";
  let description = [{
    Assumes linalg on memrefs of static shapes. What the loops of an op sum along
    the innermost of them, by an op of arith that may be `reassoc`, is added up
    in lanes: up to four vectors of 64 bytes, as many as have terms, and the last
    terms under a mask. Term j goes into lane j modulo their number; then the
    upper half of the lanes is added to the lower one until one is left. Up to 8
    terms are added one after the other.

    Where loops that are kept lie behind the last one that is summed along, with
    up to 32 elements of f32 together, each addition would wait for the one
    before. So these, too, have up to 256 bytes of lanes, of which term j goes
    into row j modulo their number. More elements are a row that is added to as
    it is, term by term.

    The order is that of the loops, whatever the body computes: what is fused
    into a sum, and what for, changes none of its bits. So no op stays `reassoc`.
    Where no vector can do what the body does, lanes are filled one by one.

    ```mlir
    func.func @sum(%x: memref<1024xf32>, %y: memref<f32>) {
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                      iterator_types = ["reduction"]}
          ins(%x : memref<1024xf32>) outs(%y : memref<f32>) {
      ^bb0(%in: f32, %out: f32):
        %sum = arith.addf %out, %in fastmath<reassoc> : f32
        linalg.yield %sum : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    ...
    %alloca = memref.alloca() {alignment = 64 : i64} : memref<64xf32>
    ...
    scf.for %i = %c0_1 to %c1024 step %c64 {
      ...
      scf.for %lane = %c0_6 to %c64_7 step %c16 {
        %j = arith.addi %i, %lane : index
        %term = vector.load %x[%j] : memref<1024xf32>, vector<16xf32>
        %before = vector.load %alloca[%lane] : memref<64xf32>, vector<16xf32>
        %after = arith.addf %before, %term : vector<16xf32>
        vector.store %after, %alloca[%lane] : memref<64xf32>, vector<16xf32>
      }
    }
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def UseDeviceMemory : Pass<"shoal-use-device-memory", "::mlir::ModuleOp"> {
  let summary = "What the host did with buffers itself, the runtime does on the device";
  let description = [{
    For targets whose buffers the host cannot reach. Assumes a planned program
    whose loops are kernels: copies become `rt.copy`, the loads that
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
      rt.copy ins(%in : memref<6xf32>) outs(%out : memref<6xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::shoal::rt::RtDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def MapKernels : Pass<"shoal-map-kernels", "::mlir::ModuleOp"> {
  let summary = "Map outlined linalg ops to GPU kernels";
  let description = [{
    Assumes what `--shoal-outline-kernels` leaves: private functions of one
    linalg op, or of those of an `rt.kernel`, on static memrefs, which share no buffers but those that are not
    `llvm.noalias`. Each becomes a `gpu.func` of `gpu.module @shoal_kernels`,
    equal ones a single one, and each call `rt.launch`, whose descriptor
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
      rt.launch 0 grid [1, 1, 1] block [256, 1, 1] touches [#rt.touch<write 4096 from 0>] outs(%arg0 : memref<8x128xf32>)
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
    MachineOption,
    Option<"maxBlocks", "max-blocks", "int64_t", /*default=*/"0",
           "The most blocks of a grid; kernels that need more take several turns. "
           "0: as many as the machine takes">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::shoal::rt::RtDialect"
  ];
}

def InsertWaits : Pass<"shoal-insert-waits", "::mlir::func::FuncOp"> {
  let summary = "Wait for collectives where their buffers are used";
  let description = [{
    For targets that communicate in the background: a call with a `collective`
    only begins it. Before the first op that touches bytes that one under way
    writes, or writes bytes that it reads, and before loops, branches and ends
    of blocks, `rt.wait` waits. A collective begins behind all work that comes
    before it and behind the collectives before it in its stream: it waits for
    those of other streams alone. Where the module says nothing of streams
    (`shoal.collective_streams`, by number) there is one.

    ```mlir
    func.func @main(%x: memref<24xf32>, %y: memref<24xf32>, %sum: memref<24xf32>, %result: memref<24xf32>) {
      rt.all_reduce sum @mesh {"x"}
        ins(%x : memref<24xf32>) outs(%sum : memref<24xf32>) {collective = 0 : i64}
      rt.copy ins(%x : memref<24xf32>) outs(%y : memref<24xf32>)
      rt.copy ins(%sum : memref<24xf32>) outs(%result : memref<24xf32>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<24xf32>, %y: memref<24xf32>, %sum: memref<24xf32>, %result: memref<24xf32>) {
      rt.all_reduce sum @mesh {"x"}
        ins(%x : memref<24xf32>) outs(%sum : memref<24xf32>) {collective = 0 : i64}
      rt.copy ins(%x : memref<24xf32>) outs(%y : memref<24xf32>)
      rt.wait 0
      rt.copy ins(%sum : memref<24xf32>) outs(%result : memref<24xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::shoal::rt::RtDialect"];
}

def VerifyKernels : Pass<"shoal-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that all loops over elements are in kernels";
  let description = [{
    Fails where one of these does not hold. Changes nothing.

    * (C1) No linalg op and no `rt.kernel` is left.
    * (C2) For a device: the host touches no memory itself; what it does with
      buffers are ops of `rt`, and views.
    * (C3) For a device: in front of loops and branches, and at the end of each
      block, no collective is under way that is not waited for.
    * (C4) For a CPU: no op of arith may be reassociated.

    ```mlir
    func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
      linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
      return
    }
    ```
    is an error:
    ```text
    f.mlir:2:3: error: 'linalg.exp' op has not become a kernel
    ```
  }];
  let options = [
    Option<"device", "device", "bool", /*default=*/"false",
           "Whether the kernels are those of a GPU">
  ];
}

#endif // SHOAL_CONVERSION_KERNELS_PASSES_TD

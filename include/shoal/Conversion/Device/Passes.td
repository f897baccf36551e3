// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a GPU wants of linalg ops on buffers: fewer launches, many threads.

#ifndef SHOAL_CONVERSION_DEVICE_PASSES_TD
#define SHOAL_CONVERSION_DEVICE_PASSES_TD

include "mlir/Pass/PassBase.td"
include "shoal/Conversion/Utils/MachineOption.td"

def FuseFills : Pass<"shoal-fuse-fills", "::mlir::func::FuncOp"> {
  let summary = "Let reductions begin with constants instead of with filled buffers";
  let description = [{
    Assumes linalg on memrefs. Where a reduction is the next to touch a buffer
    that was filled with a constant, and combines into it, the fill goes away
    and `shoal.initial` on the reduction says what it begins with, for each
    result a constant or unit: a launch and a trip through memory less. For
    `--shoal-map-kernels`, which knows the attribute.

    ```mlir
    func.func @f(%x: memref<8x4xf32>, %s: memref<8xf32>) {
      %zero = arith.constant 0.0 : f32
      linalg.fill ins(%zero : f32) outs(%s : memref<8xf32>)
      linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
                      iterator_types = ["parallel", "reduction"]}
          ins(%x : memref<8x4xf32>) outs(%s : memref<8xf32>) {
      ^bb0(%in: f32, %out: f32):
        %sum = arith.addf %in, %out : f32
        linalg.yield %sum : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<8x4xf32>, %s: memref<8xf32>) {
      %zero = arith.constant 0.0 : f32
      linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
                      iterator_types = ["parallel", "reduction"]}
          ins(%x : memref<8x4xf32>) outs(%s : memref<8xf32>) attrs = {shoal.initial = [0.0 : f32]} {
      ^bb0(%in: f32, %out: f32):
        %sum = arith.addf %in, %out : f32
        linalg.yield %sum : f32
      }
      return
    }
    ```
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
  let options = [MachineOption];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::shoal::rt::RtDialect"];
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
  let options = [MachineOption];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

def VerifyDevice : Pass<"shoal-verify-device", "::mlir::ModuleOp"> {
  let summary = "Checks what one kernel is to run";
  let description = [{
    Fails where one of these does not hold. Changes nothing.

    * (C1) An `rt.kernel` holds linalg ops, and allocas that only these use.
    * (C2) There are allocas in an `rt.kernel` alone.
    * (C3) `shoal.initial` has for each result of its op a constant of the type
      of its elements, or unit.
    * (C4) The runtime of GPUs has each function that is called.

    ```mlir
    func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
      rt.kernel {
        memref.copy %x, %y : memref<4xf32> to memref<4xf32>
      }
      return
    }
    ```
    is an error:
    ```text
    f.mlir:3:5: error: 'memref.copy' op stands in an rt.kernel: expected linalg ops and memref.alloca
    ```
  }];
}

#endif // SHOAL_CONVERSION_DEVICE_PASSES_TD

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RT_OPS_TD
#define RT_OPS_TD

include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::shoal::rt";
  let summary = "Calls of the runtime library";
  let description = [{
    Whatever a compiled program leaves to its runtime (collectives, matrix
    products, scans, selection) is one op of this dialect from the lowering to
    linalg until the lowering to LLVM, so that every target's runtime is called
    in one way.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def Rt_CallOp : Op<Rt_Dialect, "call", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
        ["bufferizesToMemoryRead", "bufferizesToMemoryWrite", "getAliasingValues",
         "bufferize"]>]> {
  let summary = "Calls `shoal_rt_<callee>` of the runtime";
  let description = [{
    Calls the runtime with the constant array `desc` (its encoding per callee
    is that of shoal/Runtime/ABI.h), then the inputs, then the outputs, which
    the callee overwrites whole; `in_place` says that it reads them and changes
    a part. On tensors the results are the outputs' new values. A `function` of
    the user's is handed to the callee behind `desc` (Runtime/CustomCall.h). A
    call with a `collective`, its number in the program's metadata, communicates;
    on targets that do so in the background, `rt.wait` waits for it.
    ```mlir
    %y = rt.call "all_reduce" [0, 0, 0, 0, 24, 1, 0, 1, 8] ins(%x : tensor<4x6xf32>)
         outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
    ```
    Constraints:
    * (C1) operands are all tensors or all memrefs, of static shape; memrefs
      are dense, without strides or offset, but for those of a `"launch"`, whose
      kernel knows them;
    * (C2) on tensors there is a result of its type per output, on memrefs none.
  }];
  let arguments = (ins StrAttr:$callee, DenseI64ArrayAttr:$desc,
                       Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs,
                       UnitAttr:$in_place, OptionalAttr<StrAttr>:$function,
                       OptionalAttr<I64Attr>:$collective);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee $desc (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the callee takes memrefs with strides and offsets.
    bool takesStrides() { return getCallee() == "launch"; }
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

def Rt_KernelOp : Op<Rt_Dialect, "kernel", [
    NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Ops on buffers that one kernel runs";
  let description = [{
    The linalg ops of the region become one kernel, which keeps in registers
    what they hand to each other: `--shoal-fuse-rows` makes it,
    `--shoal-outline-kernels` a function of it. A `memref.alloca` in it is a
    buffer that never gets memory.
    ```mlir
    func.func @normalize(%x: memref<8x8xf32>, %z: memref<8x8xf32>) {
      rt.kernel {
        %y = memref.alloca() : memref<8x8xf32>
        linalg.exp ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>)
        linalg.log ins(%y : memref<8x8xf32>) outs(%z : memref<8x8xf32>)
      }
      return
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Rt_WaitOp : Op<Rt_Dialect, "wait"> {
  let summary = "Work behind it waits for a collective";
  let description = [{
    What follows on this device runs behind the call with this number of
    `collective`, as it was last made: `shoal_rt_wait`. Of targets that
    communicate in the background.
    ```mlir
    rt.wait 3
    ```
  }];
  let arguments = (ins I64Attr:$collective);
  let assemblyFormat = "$collective attr-dict";
}

def Rt_ReadScalarOp : Op<Rt_Dialect, "read_scalar", [
    TypesMatchWith<"the result is an element of the buffer", "buffer", "result",
                   "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "An element that the device has computed";
  let description = [{
    Waits for the device and reads the one element of `buffer`, an integer, from
    its memory: `shoal_rt_read_scalar`.
    ```mlir
    %more = rt.read_scalar %buffer : memref<i1>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[AnySignlessInteger], [0]>, "", [MemRead]>:$buffer);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

#endif // RT_OPS_TD

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
    the user's is handed to the callee behind `desc` (Runtime/CustomCall.h).
    ```mlir
    %y = rt.call "all_reduce" [0, 0, 0, 0, 24, 1, 0, 1, 8] ins(%x : tensor<4x6xf32>)
         outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
    ```
    Constraints:
    * (C1) operands are all tensors or all memrefs, of static shape; memrefs
      are dense: no strides, no offset;
    * (C2) on tensors there is a result of its type per output, on memrefs none.
  }];
  let arguments = (ins StrAttr:$callee, DenseI64ArrayAttr:$desc,
                       Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs,
                       UnitAttr:$in_place, OptionalAttr<StrAttr>:$function);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee $desc (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

#endif // RT_OPS_TD

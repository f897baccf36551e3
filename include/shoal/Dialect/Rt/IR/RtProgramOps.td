// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A program's own code: kernels, functions of its user, copies. Included by
// RtOps.td.

#ifndef RT_PROGRAM_OPS_TD
#define RT_PROGRAM_OPS_TD

include "shoal/Dialect/Rt/IR/RtBase.td"
include "shoal/Dialect/Rt/IR/RtEnums.td"

def Rt_CustomCallOp : Rt_CallOp<"custom_call", "getOutputsMutable()", [AttrSizedOperandSegments]> {
  let summary = "Calls a function of the program's user";
  let description = [{
    See `shoal.custom_call` and shoal/Runtime/CustomCall.h: the function
    `target` is linked into the executable.
    ```mlir
    %y = rt.custom_call "scale_rows" config "by 2" ins(%x : tensor<4x6xf32>)
         outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
    ```
    Constraints:
    * (C1) the target is of letters, digits, `_`, `.` and `$` and none of the
      runtime's functions, which begin with `shoal_rt_`; `config` is without
      zero bytes.
  }];
  let arguments = (ins Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs, StrAttr:$target,
                       OptionalAttr<StrAttr>:$config);
  let assemblyFormat = [{
    $target (`config` $config^)? (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` attr-dict (`->` type($results)^)?
  }];
  let declarations = [{
    bool isVariadic() { return true; }
  }];
}

def Rt_HostCallOp : Rt_CallOp<"host_call", "getOutputsMutable()", [AttrSizedOperandSegments]> {
  let summary = "Prints, or calls a function of the process that runs the program";
  let description = [{
    See `shoal.print` and `shoal.host_call`. With a `number` it is a call of that
    function, whose name is the text, else the text is the format of what is
    printed; where `when` is given and false nothing happens but that outputs get
    what a sum does not change. `place` is the user's line.
    ```mlir
    func.func @print(%x: memref<4xf32>, %when: memref<i1>) {
      rt.host_call "x = {0}" at "model.py:3:5" ins(%x : memref<4xf32>) when(%when : memref<i1>)
      return
    }
    ```
    Constraints:
    * (C1) a number is not negative; without one there are no outputs.
  }];
  let arguments = (ins Variadic<AnyShaped>:$inputs, Optional<AnyShaped>:$when,
                       Variadic<AnyShaped>:$outputs, OptionalAttr<I64Attr>:$number, StrAttr:$text,
                       OptionalAttr<DenseI64ArrayAttr>:$unsigned_inputs, StrAttr:$place);
  let assemblyFormat = [{
    $text (`number` $number^)? `at` $place (`unsigned` $unsigned_inputs^)?
    (`ins` `(` $inputs^ `:` type($inputs) `)`)? (`when` `(` $when^ `:` type($when) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict (`->` type($results)^)?
  }];
  let declarations = [{
    bool isVariadic() { return true; }
    bool doesMoreThanWrite() { return true; }
  }];
}

def Rt_TouchAttr : Rt_Attr<"Touch", "touch"> {
  let summary = "What a kernel touches of a buffer";
  let description = [{
    `<read 64 from 16>`: it reads no more than 64 bytes from 16 bytes behind the
    pointer on.
  }];
  let parameters = (ins EnumParameter<Rt_Access>:$access, "int64_t":$bytes, "int64_t":$offset);
  let assemblyFormat = "`<` $access $bytes `from` $offset `>`";
}

def Rt_LaunchOp : Rt_CallOp<"launch", "getOutputsMutable()", [AttrSizedOperandSegments]> {
  let summary = "Runs a kernel on a device";
  let description = [{
    Launches the kernel with this number among the program's, which gets the
    buffers, those that it reads alone first. A grid of no blocks does nothing.
    `operations` are the scalar ones of the kernel, for who estimates its time.
    ```mlir
    func.func @launch(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
      rt.launch 0 grid [1, 1, 1] block [16, 1, 1]
        touches [#rt.touch<read 64 from 0>, #rt.touch<write 64 from 0>]
        ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
      return
    }
    ```
    Constraints:
    * (C1) `grid` and `block` have three sizes, not negative, of the block at
      least 1;
    * (C2) `touches` has an entry for each buffer, of bytes and an offset that
      are not negative;
    * (C3) `kernel` and `shared_bytes` are not negative.
  }];
  let arguments = (ins Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs, I64Attr:$kernel,
                       DenseI64ArrayAttr:$grid, DenseI64ArrayAttr:$block,
                       DefaultValuedAttr<I64Attr, "0">:$shared_bytes,
                       TypedArrayAttrBase<Rt_TouchAttr, "what is touched">:$touches,
                       DefaultValuedAttr<F64Attr, "0.0">:$operations);
  let assemblyFormat = [{
    $kernel `grid` $grid `block` $block (`shared` $shared_bytes^)? `touches` $touches
    (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $outputs `:` type($outputs) `)`
    attr-dict (`->` type($results)^)?
  }];
  let declarations = [{
    bool takesAnyMemref() { return true; }
    bool isVariadic() { return true; }
    bool runsKernel() { return true; }
    double countOperations() { return getOperations().convertToDouble(); }
  }];
}

def Rt_CopyOp : Rt_CallOp<"copy", "getOutputMutable()"> {
  let summary = "Copies a buffer on the device";
  let description = [{
    ```mlir
    func.func @copy(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
      rt.copy ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
      return
    }
    ```
    Constraints:
    * (C1) the output has the input's shape and element type.
  }];
  let arguments = (ins AnyShaped:$input, AnyShaped:$output);
  let assemblyFormat = Rt_InputAndOutput;
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

def Rt_ReadScalarOp : Op<Rt_Dialect, "read_scalar", [
    DeclareOpInterfaceMethods<RuntimeCallOpInterface>,
    TypesMatchWith<"the result is an element of the buffer", "buffer", "result",
                   "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "An element that the device has computed";
  let description = [{
    Waits for the device and reads the one element of `buffer`, an integer, from
    its memory.
    ```mlir
    %more = rt.read_scalar %buffer : memref<i1>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[AnySignlessInteger], [0]>, "", [MemRead]>:$buffer);
  let results = (outs AnySignlessInteger:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

#endif // RT_PROGRAM_OPS_TD

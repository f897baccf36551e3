// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_HOST_CALL_OPS_TD
#define SHOAL_HOST_CALL_OPS_TD

include "shoal/Dialect/Shoal/IR/ShoalOpBase.td"

/// What hands values to the host while a step runs.
class Shoal_HostOp<string mnemonic, list<Trait> traits = []>
    : Shoal_Op<mnemonic, [AttrSizedOperandSegments] # traits> {
  let hasVerifier = 1;
}

def Shoal_PrintOp : Shoal_HostOp<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "Prints values while the program runs";
  let description = [{
    A line on the output of the process that runs the program. Fields of the
    format are numbers of operands; shoal/Support/PrintFormat.h has their forms,
    which are those of Python's str.format, and arrays look as NumPy's do.
    ```mlir
    shoal.print "loss = {0:.3f} of {1}"(%loss, %x) : (tensor<f32>, tensor<8x4xf32>) -> ()
    ```
    The values are whole ones: what is split is gathered, and the first device of
    the mesh prints, once. With `on_shards` each device prints its own shards,
    however they are split; splits are even. In a region for one device (`shoal.manual_computation`)
    each device along the region's axes prints.

    It runs as often as its region does and is neither dropped, repeated nor
    moved across another print or call of the host. In the program of one device
    `when` says whether this device prints.

    Constraints:
    * (P1) the format is one, and names operands that there are;
    * (P2) a field with a form of its own is a scalar's, of a type that has it;
    * (P3) `unsigned_inputs` has numbers of integer operands.
  }];
  let arguments = (ins StrAttr:$format, Variadic<Shoal_Tensor>:$inputs,
                       Optional<0DTensorOf<[I1]>>:$when,
                       OptionalAttr<DenseI64ArrayAttr>:$unsigned_inputs,
                       UnitAttr:$on_shards);
  let assemblyFormat = [{
    $format `(` $inputs `)` (`when` $when^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Shoal_HostCallOp : Shoal_HostOp<"host_call",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Calls a function of the process that runs the program";
  let description = [{
    Function `number` of the host: a callback of JAX, which is in the process of
    Python that compiled the program (`Executable.run`) or runs it
    (`Session`). `callee` is its name, for messages.
    ```mlir
    %y = shoal.host_call 0 "normalise"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    ```
    The values are whole ones: what is split is gathered, the first device of
    the mesh calls, once, and all devices get its results. With `on_shards` each
    device calls on its own shards, however they are split, and there are no
    results; splits are even. In a region for one device each device along the region's axes
    calls.

    It runs as often as its region does and is neither dropped, repeated nor
    moved across another call or print, unless it is `pure`: such a call depends
    on its operands alone and is made if its results are needed. A function that
    fails ends the step, on all devices, with its message.

    In the program of one device `when` says whether this device calls; where it
    does not, the results are what a sum does not change: zeros, -0.0 of floats.

    Constraints:
    * (H1) the number is not negative;
    * (H2) a call on shards has no results;
    * (H3) a pure call has results.
  }];
  let arguments = (ins I64Attr:$number, StrAttr:$callee,
                       Variadic<Shoal_Tensor>:$inputs,
                       Optional<0DTensorOf<[I1]>>:$when, UnitAttr:$pure,
                       UnitAttr:$on_shards);
  let results = (outs Variadic<Shoal_Tensor>:$results);
  let assemblyFormat = [{
    $number $callee `(` $inputs `)` (`when` $when^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif // SHOAL_HOST_CALL_OPS_TD

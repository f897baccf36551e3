// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_REFERENCE_INTERFACE_TD
#define SHOAL_REFERENCE_INTERFACE_TD

include "mlir/IR/Interfaces.td"

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::shoal::reference";
  let description = [{
    What an op means on the values of one device. Attached by external models,
    so that no dialect depends on the interpreter.
  }];
  let methods = [
    InterfaceMethod<[{
        The op's results, of its result types, for operands of its operand
        types. On failure an error has been emitted at the op.
      }],
      "::llvm::FailureOr<::shoal::reference::Tensors>", "evaluate",
      (ins "::llvm::ArrayRef<::shoal::reference::Tensor>":$operands)>
  ];
}

def GridOpInterface : OpInterface<"GridOpInterface"> {
  let cppNamespace = "::shoal::reference";
  let description = [{
    What an op means on a grid of devices, for ops whose result on one device
    depends on that device's place or on what other devices hold.
  }];
  let methods = [
    InterfaceMethod<[{
        The op's results on all `numDevices` devices. On failure an error has
        been emitted at the op.
      }],
      "::llvm::FailureOr<::shoal::reference::GridValues>", "evaluateOnGrid",
      (ins "int64_t":$numDevices,
           "::llvm::ArrayRef<::shoal::reference::GridValue>":$operands)>
  ];
}

def RegionOpInterface : OpInterface<"RegionOpInterface"> {
  let cppNamespace = "::shoal::reference";
  let description = [{
    What an op with regions means on a grid of devices, which run each region in
    lockstep.
  }];
  let methods = [
    InterfaceMethod<[{
        The op's results on all `numDevices` devices. On failure an error has
        been emitted.
      }],
      "::llvm::FailureOr<::shoal::reference::GridValues>", "evaluateWithRegions",
      (ins "int64_t":$numDevices,
           "::llvm::ArrayRef<::shoal::reference::GridValue>":$operands,
           "::shoal::reference::RunRegion":$run)>
  ];
}

#endif // SHOAL_REFERENCE_INTERFACE_TD

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RT_INTERFACES_TD
#define RT_INTERFACES_TD

include "mlir/IR/Interfaces.td"

def RuntimeCallOpInterface : OpInterface<"RuntimeCallOpInterface"> {
  let cppNamespace = "::shoal::rt";
  let description = [{
    What passes know of a call of the runtime: the function `shoal_rt_<symbol>`
    gets the address of a constant array, the descriptor, and then the address
    of each operand; of scratch that it has not, null. Where an op is a DestinationStyleOpInterface, too, its
    inits are what the runtime writes.
  }];
  let methods = [
    InterfaceMethod<"The function's name behind `shoal_rt_`.",
      "::llvm::StringRef", "getSymbol", (ins), "",
      "return $_op->getName().stripDialect();">,
    InterfaceMethod<"The words of the descriptor, a struct of shoal/Calls.",
      "std::vector<int64_t>", "getDescriptor",
      (ins "const ::shoal::rt::ProgramMeshes &":$meshes)>,
    InterfaceMethod<[{
        Whether the function takes its operands as `...`.
      }], "bool", "isVariadic", (ins), "", "return false;">,
    InterfaceMethod<[{
        Why the runtime of GPUs has no such function, as an error says it; empty
        where it has.
      }], "::llvm::StringRef", "whyNotOnDevice", (ins), "", "return {};">,
    InterfaceMethod<"Multiplications, each followed by an addition.",
      "double", "countTerms", (ins), "", "return 0;">,
    InterfaceMethod<[{
        Of a product of matrices their sizes, of elements as the first operand
        has.
      }], "std::optional<::shoal::ProductShape>", "getProductShape", (ins), "",
      "return std::nullopt;">,
    InterfaceMethod<"Scalar operations of what is no product of matrices.",
      "double", "countOperations", (ins), "", "return 2 * $_op.countTerms();">,
    InterfaceMethod<[{
        Rows or windows that it reads or writes at places which are known only
        as the program runs.
      }], "int64_t", "countIndexedRows", (ins), "", "return 0;">,
    InterfaceMethod<[{
        Whether how much it does of what there is room for is known only as the
        program runs, and differs between devices.
      }], "bool", "isRagged", (ins), "", "return false;">,
    InterfaceMethod<"Whether what it runs is the program's own code: a kernel.",
      "bool", "runsKernel", (ins), "", "return false;">,
    InterfaceMethod<"Whether the function has an argument for scratch, the last.",
      "bool", "takesScratch", (ins), "", "return false;">,
    InterfaceMethod<[{
        Bytes of memory that the call needs for its own length, on a CPU or
        on a device; the same for all devices.
      }], "int64_t", "getScratchBytes",
      (ins "const ::shoal::rt::ProgramMeshes &":$meshes, "bool":$onDevice), "", "return 0;">,
    InterfaceMethod<"That memory, a memref of bytes, where it has been added.",
      "::mlir::MutableOperandRange", "getScratchMutable", (ins), "",
      "return ::mlir::MutableOperandRange($_op, $_op->getNumOperands(), 0);">,
    InterfaceMethod<[{
        Whether more comes of the call than what it writes: it is made as often
        as the program says, in its order.
      }], "bool", "doesMoreThanWrite", (ins), "", "return false;">,
    InterfaceMethod<"Whether the call also reads what it writes.",
      "bool", "readsOutputs", (ins), "", "return false;">,
    InterfaceMethod<[{
        Whether the call takes memrefs of any layout and elements: of a buffer
        the runtime then sees the address alone.
      }], "bool", "takesAnyMemref", (ins), "", "return false;">,
    InterfaceMethod<[{
        Where the call communicates: its number in the program's metadata. On
        targets that do so in the background, `rt.wait` waits for it.
      }], "std::optional<int64_t>", "getCollectiveNumber", (ins), "",
      "return std::nullopt;">
  ];
  let verify = "return ::shoal::rt::verifyCall($_op);";
}

#endif // RT_INTERFACES_TD

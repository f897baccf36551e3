// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The dialect, and what its ops have in common.

#ifndef RT_BASE_TD
#define RT_BASE_TD

include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"
include "shoal/Dialect/Rt/IR/RtInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::shoal::rt";
  let summary = "Calls of the runtime library";
  let description = [{
    Whatever a compiled program leaves to its runtime (products, collectives,
    scans, selection, windows) is one op of this dialect from the lowering to
    linalg until the lowering to LLVM, so that every target's runtime is called
    in one way. An op says in types and attributes what is to be done;
    `--shoal-lower-runtime-calls` makes of it the numbers of the C ABI
    (docs/reference/RuntimeCalls.md).

    A call overwrites its `outs`, on tensors as well as on memrefs, where the
    op does not say otherwise; on tensors the results are their new values. One
    with a `collective`, its number in the program's metadata, communicates.

    Constraints of every call:
    * (R1) operands are all tensors or all memrefs, of static shape and less than
      2^56 elements; but for those of `rt.launch`, memrefs are dense,
      wherever they begin, and elements of a type that the runtime has
      (shoal/Support/ElementType.h);
    * (R2) on tensors there is a result of its type per output, on memrefs none;
    * (R3) the meshes that it names are declared and have each axis named;
    * (R4) `scratch`, memory that it has for its own length, is a memref of
      bytes, and goes with memrefs; `--shoal-add-scratch` gives it;
    * (R5) the number of a collective is not negative.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::shoal::ShoalDialect",
                           "::shoal::spmd::SpmdDialect"];
  let useDefaultAttributePrinterParser = 1;
}

class Rt_Attr<string name, string attrMnemonic> : AttrDef<Rt_Dialect, name> {
  let mnemonic = attrMnemonic;
}

/// A call whose outputs are `inits`. An op lists its arguments, how it is spelt
/// and its laws, and defines getDescriptor(); `declarations` are its own.
/// The last operand of a call that may need memory for its own length, where it
/// does: see RuntimeCallOpInterface::getScratchBytes.
defvar Rt_Scratch = (ins Optional<MemRefRankOf<[I8], [1]>>:$scratch);
defvar Rt_ScratchFormat = "(`scratch` `(` $scratch^ `:` type($scratch) `)`)? ";
defvar Rt_ScratchDeclarations = [{
    bool takesScratch() { return true; }
    int64_t getScratchBytes(const ::shoal::rt::ProgramMeshes &meshes, bool onDevice);
}];

class Rt_CallOp<string mnemonic, string inits, list<Trait> traits = []>
    : Op<Rt_Dialect, mnemonic, traits # [
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<BufferizableOpInterface,
            ["bufferizesToMemoryRead", "bufferizesToMemoryWrite", "getAliasingValues",
             "bufferize"]>,
        DeclareOpInterfaceMethods<RuntimeCallOpInterface>]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  code declarations = "";
  let extraClassDeclaration = !strconcat(
      "::mlir::MutableOperandRange getDpsInitsMutable() { return ", inits, "; }\n",
      declarations);
  let extraClassDefinition = [{
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<
            ::mlir::MemoryEffects::Effect>> &effects) {
      ::shoal::rt::listCallEffects(getOperation(), effects);
    }
    bool $cppClass::bufferizesToMemoryRead(
        ::mlir::OpOperand &operand, const ::mlir::bufferization::AnalysisState &) {
      return isDpsInput(&operand) || readsOutputs();
    }
    bool $cppClass::bufferizesToMemoryWrite(
        ::mlir::OpOperand &operand, const ::mlir::bufferization::AnalysisState &) {
      return isDpsInit(&operand);
    }
    ::mlir::bufferization::AliasingValueList $cppClass::getAliasingValues(
        ::mlir::OpOperand &operand, const ::mlir::bufferization::AnalysisState &) {
      if (!isDpsInit(&operand))
        return {};
      return {{getTiedOpResult(&operand), ::mlir::bufferization::BufferRelation::Equivalent}};
    }
    ::llvm::LogicalResult $cppClass::bufferize(
        ::mlir::RewriterBase &rewriter,
        const ::mlir::bufferization::BufferizationOptions &options,
        ::mlir::bufferization::BufferizationState &state) {
      return ::shoal::rt::bufferizeCall(rewriter, getOperation(), options, state);
    }
  }];
  let hasVerifier = 1;
}

/// How one input and one output are spelt.
defvar Rt_Operands =
    "`ins` `(` $input `:` type($input) `)` `outs` `(` $output `:` type($output) `)` ";
defvar Rt_InputAndOutput = !strconcat(Rt_Operands, "attr-dict (`->` type($results)^)?");
defvar Rt_InputOutputAndScratch =
    !strconcat(Rt_Operands, Rt_ScratchFormat, "attr-dict (`->` type($results)^)?");

#endif // RT_BASE_TD

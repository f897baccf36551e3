// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToFuncs/MathToFuncs.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "shoal/Conversion/ToLLVM/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildToLLVMPipeline(OpPassManager &pm) {
  // While types say what a buffer is: a descriptor has it, a call gets the
  // address.
  pm.addPass(createLowerRuntimeCalls());
  // What a step runs is then calls of addresses, and no descriptors for all
  // that comes below to fold.
  pm.addPass(createTakeAddresses());
  // Powers of a float by an integer become functions of the module, of blocks
  // and branches, which are lowered with the rest.
  pm.addPass(createConvertMathToFuncs());
  // Subscripts of the kernels' loops are affine maps still. They become arith,
  // and loops scf's.
  pm.addPass(createLowerAffinePass());
  // Last of the regions: what follows converts ops within blocks.
  pm.addPass(createSCFToControlFlowPass());
  // Views of views become one cast of a buffer, and its offset and strides
  // arithmetic: the lowering of memrefs takes no other.
  pm.addPass(memref::createExpandStridedMetadataPass());
  // The previous pass computes addresses in the affine dialect.
  pm.addPass(createLowerAffinePass());
  // Loads, stores and casts alone are left of memrefs.
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  // Instructions and intrinsics where LLVM has them, which vectorize;
  pm.addPass(createConvertMathToLLVMPass());
  // else a call of the C library.
  pm.addPass(createConvertMathToLibmPass());
  // Vectors of several dimensions, as of transposes, become those of one; their
  // masks and places are arith's, so before it.
  pm.addPass(createConvertVectorToLLVMPass());
  // All of the above has computed in arith.
  pm.addPass(createArithToLLVMConversionPass());
  // What a vector holds before its first line is inserted.
  pm.addPass(createUBToLLVMConversionPass());
  // What branches pass on has LLVM's types by now.
  pm.addPass(createConvertControlFlowToLLVMPass());
  // What of the index dialect upstream's passes have left.
  pm.addPass(createConvertIndexToLLVMPass());
  // Signatures last, as bodies have what they say. A memref that is an argument
  // still is its address, as that is what callers pass.
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  // Each conversion has left casts between its types and those of the others,
  // which meet now.
  pm.addPass(createReconcileUnrealizedCastsPass());
  // Takes the address of a function, which func has no op for.
  pm.addPass(createShareTiles());
  // Nothing but loads, stores, selects and constants is of bf16 by now.
  pm.addPass(createStoreBF16AsI16());
  // The translation to LLVM IR would say less of what is left.
  pm.addPass(createVerifyLLVM());
}

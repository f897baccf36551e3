// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the files of ops share. Each family of ops has a file of its own, so
// that a change of one rebuilds little.

#ifndef SHOAL_OP_BASE_TD
#define SHOAL_OP_BASE_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "shoal/Dialect/Shoal/IR/ShoalAttrs.td"
include "shoal/Dialect/Shoal/IR/ShoalTypes.td"
include "shoal/Interfaces/PartitionInterfaces.td"

class Shoal_Op<string mnemonic, list<Trait> traits = []>
    : Op<Shoal_Dialect, mnemonic, traits>;

/// Decomposes to other ops, arith and math.
class Shoal_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Shoal_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<CompositeOpInterface>] # traits> {
  let hasVerifier = 1;
}

#endif // SHOAL_OP_BASE_TD

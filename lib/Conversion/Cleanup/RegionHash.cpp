// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Conversion/Cleanup/RegionHash.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

using Equivalence = OperationEquivalence;

static llvm::hash_code hashValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return llvm::hash_combine(argument.getArgNumber(), argument.getType());
  auto result = cast<OpResult>(value);
  // Which op of several equal ones it is may change, and so their operands.
  return llvm::hash_combine(
      result.getResultNumber(),
      Equivalence::computeHash(result.getOwner(), Equivalence::ignoreHashValue,
                               Equivalence::ignoreHashValue,
                               Equivalence::IgnoreLocations |
                                   Equivalence::IgnoreDiscardableAttrs));
}

llvm::hash_code shoal::hashRegions(Operation *op) {
  llvm::hash_code hash(op->getNumRegions());
  for (Region &region : op->getRegions()) {
    for (Block &block : region) {
      hash = llvm::hash_combine(hash, block.getNumArguments());
      for (Operation &inner : block)
        hash = llvm::hash_combine(
            hash,
            Equivalence::computeHash(&inner, hashValue,
                                     Equivalence::ignoreHashValue,
                                     Equivalence::IgnoreLocations |
                                         Equivalence::IgnoreDiscardableAttrs),
            inner.getNumRegions() ? hashRegions(&inner) : llvm::hash_code(0));
    }
  }
  return hash;
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Shoal.h"

using namespace mlir;
using namespace shoal;

/// An optional result type that repeats an operand's.
static ParseResult parseSameType(OpAsmParser &, Type &inputType, Type &type) {
  type = inputType;
  return success();
}
static void printSameType(OpAsmPrinter &, Operation *, Type, Type) {}

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/StructureOps.cpp.inc"

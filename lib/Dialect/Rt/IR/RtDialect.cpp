// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/IR/DialectImplementation.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shoal::rt;

#include "shoal/Dialect/Rt/IR/RtDialect.cpp.inc"
#include "shoal/Dialect/Rt/IR/RtEnums.cpp.inc"
#include "shoal/Dialect/Rt/IR/RtInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "shoal/Dialect/Rt/IR/RtAttrs.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "shoal/Dialect/Rt/IR/RtAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "shoal/Dialect/Rt/IR/RtOps.cpp.inc"
      >();
}

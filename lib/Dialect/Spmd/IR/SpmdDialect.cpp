// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

#include "shoal/Dialect/Spmd/IR/SpmdDialect.cpp.inc"
#include "shoal/Dialect/Spmd/IR/SpmdInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "shoal/Dialect/Spmd/IR/SpmdAttrs.cpp.inc"

namespace {
/// What one device does may stand in functions of its own.
struct SpmdInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "shoal/Dialect/Spmd/IR/SpmdAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "shoal/Dialect/Spmd/IR/SpmdOps.cpp.inc"
      >();
  addInterfaces<SpmdInliner>();
}

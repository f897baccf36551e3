// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Addends.h"
#include "VerifyAddends.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"

using namespace mlir;
using namespace shoal;

LogicalResult shoal::verifyAddends(ShardingAttr sharding, Type type,
                                   EmitError emitError) {
  Type element = getElementTypeOrSelf(type);
  if (sharding.getPartial().empty() ||
      !(element.isInteger(1) || isFloat8(element)))
    return success();
  return emitError() << "partial over axis \""
                     << sharding.getPartial()[0].getName() << "\": elements of "
                     << element << " are no addends of a sum";
}

ShardingAttr shoal::withoutPartial(ShardingAttr sharding) {
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                           sharding.getDims(), sharding.getReplicated(), {});
}

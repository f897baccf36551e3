// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shoal;

Value shoal::combine(OpBuilder &builder, Location loc, ReduceKind kind,
                     Value lhs, Value rhs) {
  return createCombiner(builder, loc, kind, lhs, rhs,
                        arith::FastMathFlags::reassoc);
}

Value shoal::convertTo(OpBuilder &builder, Location loc, Value value,
                       Type elementType) {
  Type source = getElementTypeOrSelf(value.getType());
  if (source == elementType)
    return value;
  Type target = elementType;
  if (auto shaped = dyn_cast<ShapedType>(value.getType()))
    target = shaped.clone(elementType);
  unsigned from = source.getIntOrFloatBitWidth();
  unsigned to = elementType.getIntOrFloatBitWidth();
  if (source.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, target, value);
  if (isa<IntegerType>(source))
    return arith::ExtSIOp::create(builder, loc, target, value);
  if (from < to)
    return arith::ExtFOp::create(builder, loc, target, value);
  return arith::TruncFOp::create(builder, loc, target, value);
}

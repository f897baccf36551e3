// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shoal;

/// Whether every step of a sum or product rounds to 16 bits or fewer.
static bool rounds(Operation *combiner) {
  auto type = dyn_cast<FloatType>(combiner->getResult(0).getType());
  return type && type.getWidth() < 32 &&
         isa<arith::AddFOp, arith::MulFOp>(combiner);
}

Operation *shoal::matchCombiner(linalg::GenericOp op, unsigned number) {
  Operation *yield = op.getBody()->getTerminator();
  OpOperand &yielded = yield->getOpOperand(number);
  Operation *combiner = yielded.get().getDefiningOp();
  Value old = op.getRegionOutputArgs()[number];
  // What else reads the old or the new value sees partial results.
  if (!combiner || combiner->getBlock() != op.getBody() ||
      combiner->getNumOperands() != 2 || !combiner->hasOneUse() ||
      !old.hasOneUse() || *old.user_begin() != combiner)
    return nullptr;
  bool isFree = combiner->getResult(0).getType().isIntOrFloat() &&
                !rounds(combiner) && getNeutralElement(combiner);
  return isFree ? combiner : nullptr;
}

Value shoal::combine(OpBuilder &builder, Operation *combiner, Value lhs,
                     Value rhs) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), lhs);
  // Of x + x both operands are one value; the second is set behind.
  Operation *copy = builder.clone(*combiner, mapping);
  copy->setOperand(1, rhs);
  return copy->getResult(0);
}

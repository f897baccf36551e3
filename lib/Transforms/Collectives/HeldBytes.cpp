// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HeldBytes.h"
#include "mlir/IR/OpDefinition.h"
#include "shoal/CostModel/ProgramCost.h"

using namespace mlir;
using namespace shoal;

/// Whether results may lie where operands did.
static bool writesOverOperands(Operation &op) {
  return op.getNumRegions() > 0 || op.hasTrait<OpTrait::Elementwise>();
}

HeldBytes::HeldBytes(Block &block) : block(block) {
  for (Operation &op : block)
    places[&op] = static_cast<int64_t>(places.size());
  SmallVector<int64_t> changes(places.size() + 2, 0);
  for (Operation &op : block)
    addLives(op);
  for (const Life &life : lives) {
    changes[life.first] += life.bytes;
    changes[life.last + 1] -= life.bytes;
  }
  int64_t held = 0;
  for (int64_t change : changes) {
    held += change;
    peak = std::max(peak, held);
  }
}

int64_t HeldBytes::placeOf(Operation *op) const {
  return places.lookup(block.findAncestorOpInBlock(*op));
}

void HeldBytes::addLives(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>())
    return;
  int64_t place = places.lookup(&op);
  for (Region &region : op.getRegions())
    for (Block &inner : region)
      lives.push_back({&op, place, place, HeldBytes(inner).most()});
  for (Value result : op.getResults()) {
    int64_t first = place + (writesOverOperands(op) ? 1 : 0), last = first;
    for (Operation *user : result.getUsers())
      last = std::max(last, placeOf(user));
    lives.push_back({&op, first, last, tensorBytes(result)});
  }
}

int64_t HeldBytes::at(Operation *op,
                      const llvm::DenseSet<Operation *> &others) const {
  int64_t place = places.lookup(op), held = 0;
  for (const Life &life : lives)
    if (life.first <= place && place <= life.last &&
        !others.contains(life.maker))
      held += life.bytes;
  return held;
}

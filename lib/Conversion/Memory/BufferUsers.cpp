// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BufferUsers.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/CostModel/ProgramCost.h"

using namespace mlir;
using namespace shoal;

std::optional<SmallVector<Operation *>> shoal::findUsers(Value memory) {
  SmallVector<Operation *> users;
  SmallVector<Value> values = {memory};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (isa<ViewLikeOpInterface>(user)) {
        values.append(user->result_begin(), user->result_end());
        continue;
      }
      Operation *around = memory.getParentBlock()->findAncestorOpInBlock(*user);
      if (!around || isa<RegionBranchOpInterface>(user) ||
          user->hasTrait<OpTrait::IsTerminator>())
        return std::nullopt;
      users.push_back(around);
    }
  }
  return users;
}

bool shoal::isWhole(Value view, Value memory) {
  auto isDense = [](MemRefType type) {
    return type.hasStaticShape() && type.getLayout().isIdentity();
  };
  auto part = cast<MemRefType>(view.getType());
  auto whole = cast<MemRefType>(memory.getType());
  return isDense(part) && isDense(whole) &&
         sizeInBytes(part) == sizeInBytes(whole);
}

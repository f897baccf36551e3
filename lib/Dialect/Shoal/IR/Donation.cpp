// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

using namespace mlir;
using namespace shoal;

using Suits = llvm::function_ref<bool(unsigned argument, unsigned result)>;

/// Whether the argument is donated and of the result's type.
static bool hasRoom(FunctionOpInterface function, unsigned argument,
                    unsigned result) {
  return function.getArgAttr(argument, kDonatedAttr) &&
         function.getArgumentTypes()[argument] ==
             function.getResultTypes()[result];
}

/// For each result the first argument that suits and that no other has: one
/// that is returned as it is comes first.
static SmallVector<int64_t> pairUp(FunctionOpInterface function, Suits suits) {
  SmallVector<int64_t> donors(function.getNumResults(), -1);
  llvm::BitVector taken(function.getNumArguments());
  auto take = [&](unsigned argument, unsigned result) {
    if (donors[result] >= 0 || taken[argument] ||
        !hasRoom(function, argument, result) || !suits(argument, result))
      return;
    donors[result] = argument;
    taken.set(argument);
  };
  Block &body = function.getFunctionBody().front();
  for (auto [result, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &body)
      take(argument.getArgNumber(), result);
  for (unsigned result = 0; result < donors.size(); ++result)
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      take(i, result);
  return donors;
}

SmallVector<int64_t> shoal::findDonors(FunctionOpInterface function) {
  return pairUp(function, [&](unsigned argument, unsigned result) {
    auto sameAttr = [&](StringRef name) {
      return function.getArgAttr(argument, name) ==
             function.getResultAttr(result, name);
    };
    return sameAttr(kShardingAttr) && sameAttr(kGlobalTypeAttr);
  });
}

SmallVector<int64_t> shoal::findLikelyDonors(FunctionOpInterface function) {
  return pairUp(function, [&](unsigned argument, unsigned result) {
    Attribute from = function.getArgAttr(argument, kShardingAttr);
    Attribute to = function.getResultAttr(result, kShardingAttr);
    return !from || !to || from == to;
  });
}

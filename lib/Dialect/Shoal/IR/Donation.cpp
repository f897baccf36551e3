// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

using namespace mlir;
using namespace shoal;

static bool suits(FunctionOpInterface function, unsigned argument,
                  unsigned result) {
  auto sameAttr = [&](StringRef name) {
    return function.getArgAttr(argument, name) ==
           function.getResultAttr(result, name);
  };
  return function.getArgAttr(argument, kDonatedAttr) &&
         function.getArgumentTypes()[argument] ==
             function.getResultTypes()[result] &&
         sameAttr(kShardingAttr) && sameAttr(kGlobalTypeAttr);
}

SmallVector<int64_t> shoal::findDonors(FunctionOpInterface function) {
  SmallVector<int64_t> donors(function.getNumResults(), -1);
  llvm::BitVector taken(function.getNumArguments());
  auto take = [&](unsigned argument, unsigned result) {
    if (donors[result] >= 0 || taken[argument] ||
        !suits(function, argument, result))
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

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every op that the partitioner knows has a derivative rule, is written out
// before, or says why there is none.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Interfaces/DifferentiableInterface.h"
#include "shoal/Transforms/Autodiff/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shoal;

TEST(DerivativeRules, EveryOpHasOneOrAReason) {
  DialectRegistry registry;
  registry.insert<ShoalDialect, arith::ArithDialect, math::MathDialect>();
  registerFactorRuleModels(registry);
  registerDerivativeRules(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // Ops without results of floats, which nothing passes through.
  llvm::StringSet<> without{"shoal.mesh", "shoal.yield", "shoal.print"};
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    bool isKnown = name.getDialectNamespace() == "shoal" ||
                   name.hasInterface<FactorRuleOpInterface>();
    if (!isKnown || without.contains(name.getStringRef()))
      continue;
    ++count;
    EXPECT_TRUE(name.hasInterface<DifferentiableOpInterface>() ||
                name.hasInterface<CompositeOpInterface>())
        << name.getStringRef().str() << " has neither";
  }
  EXPECT_GT(count, 130u);
}

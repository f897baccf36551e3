// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every op that the partitioner knows has a derivative rule, is written out
// before, or says why there is none.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "shoal/Dialect/Shoal/FactorRules/FactorRules.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Interfaces/DifferentiableInterface.h"
#include "shoal/Transforms/Autodiff/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace shoal;

TEST(DerivativeRules, EveryOpHasOneOrAReason) {
  DialectRegistry registry;
  registry.insert<ShoalDialect, spmd::SpmdDialect, arith::ArithDialect,
                  math::MathDialect>();
  registerFactorRuleModels(registry);
  registerDerivativeRules(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  unsigned count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    bool isKnown = name.getDialectNamespace() == "shoal" ||
                   name.getDialectNamespace() == "spmd" ||
                   name.hasInterface<FactorRuleOpInterface>();
    if (!isKnown)
      continue;
    ++count;
    EXPECT_TRUE(name.hasInterface<DifferentiableOpInterface>() ||
                name.hasInterface<CompositeOpInterface>())
        << name.getStringRef().str() << " has neither";
  }
  EXPECT_GT(count, 130u);
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Interfaces/DifferentiableInterface.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "shoal/Transforms/Autodiff/Passes.h"

namespace shoal {
#define GEN_PASS_DEF_PRINTDERIVATIVERULES
#include "shoal/Transforms/Autodiff/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

static constexpr StringLiteral kHead =
    R"(<!-- shoal-opt --shoal-print-derivative-rules prints this page; don't manually edit -->

# Derivative rules

What a gradient is of each op ([Autodiff.md](../guide/Autodiff.md) says how rules are
written). An op without gradient ends a path in silence: its operands'
cotangents are zero. An op that is an error is one only where a gradient passes
through it.

| op | gradient |
|---|---|
)";

/// Whether programs are made of the op.
static bool isOfPrograms(RegisteredOperationName name) {
  Dialect &dialect = name.getDialect();
  return isa<ShoalDialect, spmd::SpmdDialect>(dialect) ||
         name.hasInterface<DifferentiableOpInterface>() ||
         name.hasInterface<FactorRuleOpInterface>();
}

static std::string describe(RegisteredOperationName name) {
  const auto *rule = name.getInterface<DifferentiableOpInterface>();
  if (!rule)
    return name.hasInterface<CompositeOpInterface>() ? "written out first"
                                                     : "missing";
  if (StringRef reason = rule->getNoGradientReason(); !reason.empty())
    return ("none: " + reason).str();
  if (StringRef reason = rule->getRefusal(); !reason.empty())
    return ("an error: " + reason).str();
  if (StringRef domain = rule->getDomain(); !domain.empty())
    return ("rule, of " + domain).str();
  return "rule";
}

namespace {

struct PrintDerivativeRules
    : shoal::impl::PrintDerivativeRulesBase<PrintDerivativeRules> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::errs() << kHead;
    auto names = llvm::to_vector(getContext().getRegisteredOperations());
    llvm::sort(names, [](auto a, auto b) {
      return a.getStringRef() < b.getStringRef();
    });
    for (RegisteredOperationName name : names)
      if (isOfPrograms(name))
        llvm::errs() << "| `" << name.getStringRef() << "` | " << describe(name)
                     << " |\n";
  }
};

} // namespace

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The local form of ops whose factor rule says all that there is to know.

#include "Shapes.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Partition/Localizer.h"

using namespace mlir;
using namespace shoal;

static FactorRule ruleOf(Operation *op) {
  return cast<FactorRuleOpInterface>(op).getFactorRule();
}

static bool isReduced(const FactorRule &rule, ArrayRef<unsigned> dim) {
  return llvm::any_of(dim, [&](unsigned factor) {
    return rule.factors[factor].kind == FactorKind::Reduction;
  });
}

/// What of the rule the op must do by itself; null where nothing is.
static const char *findOwnPart(const FactorRule &rule) {
  if (!rule.windows.empty())
    return "has windows";
  if (!rule.gathers.empty())
    return "gathers slabs";
  std::optional<ReduceKind> kind;
  for (const Factor &factor : rule.factors) {
    if (factor.kind != FactorKind::Reduction)
      continue;
    if (!factor.reduction)
      return "reduces in a way of its own";
    if (kind && *kind != *factor.reduction)
      return "reduces in several ways";
    kind = factor.reduction;
  }
  return nullptr;
}

static Value maskReduced(Localizer &l, const FactorRule &rule, unsigned index) {
  SmallVector<int64_t> dims;
  std::optional<ReduceKind> kind;
  for (auto [dim, factors] : llvm::enumerate(rule.operands[index])) {
    // What a window reads is fetched by it, with what its padding is.
    bool isFetched =
        llvm::any_of(rule.windows, [&](const FactorRule::Window &window) {
          return window.operand == index && window.dim == dim;
        });
    if (isFetched || !isReduced(rule, factors))
      continue;
    dims.push_back(dim);
    for (unsigned factor : factors)
      if (rule.factors[factor].reduction)
        kind = rule.factors[factor].reduction;
  }
  Value value = l.operands[index];
  if (dims.empty())
    return value;
  return l.maskPadding(value, shapeOf(l.op->getOperand(index)),
                       l.operandShardings[index], dims,
                       getIdentity(*kind, typeOf(value).getElementType()));
}

Value Localizer::maskReduced(unsigned index) {
  return ::maskReduced(*this, ruleOf(op), index);
}

/// `results`, whose devices along `axes` have each reduced a part.
static void finishReduction(Localizer &l, ReduceKind kind,
                            ArrayRef<AxisId> axes,
                            SmallVectorImpl<Value> &results) {
  MLIRContext *context = l.builder.getContext();
  auto why = l.reason(stringifyReduceKind(kind) + " over a split dimension");
  for (Value &result : results)
    result = spmd::AllReduceOp::create(
        l.builder, l.getLoc(), result.getType(),
        ReduceKindAttr::get(context, kind), l.meshSymbol,
        toAxesAttr(axes, l.mesh, context), result, why);
}

LogicalResult Localizer::localizeByRule(SmallVectorImpl<Value> &results) {
  FactorRule rule = ruleOf(op);
  if (const char *part = findOwnPart(rule))
    return op->emitOpError()
           << "cannot be partitioned: its factor rule " << part
           << ", but it has no model of LocalizeOpInterface that says how";
  OpShardings shardings;
  llvm::append_range(shardings.operands, operandShardings);
  llvm::append_range(shardings.results, resultShardings);
  std::optional<FactorSharding> choice = findChoice(rule, shardings, mesh);
  if (!choice)
    return op->emitOpError()
           << "cannot be partitioned: its factor rule does not allow the "
              "shardings of its operands and results";

  SmallVector<Value> masked;
  for (unsigned i = 0; i < operands.size(); ++i)
    masked.push_back(::maskReduced(*this, rule, i));
  Operation *local = cloneLocally();
  local->setOperands(masked);
  llvm::append_range(results, local->getResults());

  AxisList axes;
  std::optional<ReduceKind> kind;
  for (auto [factor, own] : llvm::zip_equal(rule.factors, choice->axes)) {
    if (factor.kind != FactorKind::Reduction)
      continue;
    kind = factor.reduction;
    llvm::append_range(axes, own);
  }
  // Sums stay partial.
  if (!axes.empty() && *kind != ReduceKind::Sum)
    finishReduction(*this, *kind, axes, results);
  return success();
}

LogicalResult shoal::verifyLocalizeModels(MLIRContext *context) {
  LogicalResult result = success();
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    auto *rule = name.getInterface<FactorRuleOpInterface>();
    if (!rule || !rule->hasOwnLocalForm() ||
        name.hasInterface<LocalizeOpInterface>())
      continue;
    emitError(UnknownLoc::get(context))
        << "'" << name << "' has a local form of its own, but no model of "
        << "LocalizeOpInterface is registered for it";
    result = failure();
  }
  return result;
}

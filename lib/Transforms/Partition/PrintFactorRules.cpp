// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Partition/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace shoal {
#define GEN_PASS_DEF_PRINTFACTORRULES
#include "shoal/Transforms/Partition/Passes.h.inc"
} // namespace shoal

using namespace mlir;
using namespace shoal;

/// i, j, ..., z, then f18, f19, ...
static std::string factorName(unsigned factor) {
  if (factor < 18)
    return std::string(1, static_cast<char>('i' + factor));
  return "f" + std::to_string(factor);
}

static void printTensors(raw_ostream &os, ArrayRef<DimFactors> tensors) {
  os << '(';
  llvm::interleaveComma(tensors, os, [&](const DimFactors &dims) {
    os << '[';
    llvm::interleaveComma(dims, os, [&](ArrayRef<unsigned> factors) {
      for (unsigned factor : factors)
        os << factorName(factor);
    });
    os << ']';
  });
  os << ')';
}

/// `, reduces k:sum`, for the factors of a kind.
static void printKind(raw_ostream &os, const FactorRule &rule, FactorKind kind,
                      StringRef name) {
  bool isFirst = true;
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != kind)
      continue;
    if (isFirst)
      os << ", " << name;
    isFirst = false;
    os << ' ' << factorName(i);
    if (factor.reduction)
      os << ':' << stringifyReduceKind(*factor.reduction);
  }
}

/// `, operand 0 dim 1 reads rows i-1 ... i+1`, or `i-2 around the end`.
static void printWindows(raw_ostream &os, const FactorRule &rule) {
  for (const FactorRule::Window &window : rule.windows) {
    const auto &dim = rule.operands[window.operand][window.dim];
    os << ", operand " << window.operand << " dim " << window.dim
       << " reads rows ";
    auto print = [&](int64_t offset) {
      bool divides = window.map.divisor != 1;
      os << (divides ? "(" : "");
      if (window.map.scale != 1)
        os << window.map.scale << '*';
      os << factorName(dim.front());
      if (offset != 0)
        os << (offset > 0 ? "+" : "") << offset;
      if (divides)
        os << ")/" << window.map.divisor;
    };
    print(window.map.low);
    if (window.map.high != window.map.low) {
      os << " ... ";
      print(window.map.high);
    }
    if (window.map.wraps)
      os << " around the end";
    if (window.unit != 1 || window.operandUnit != 1)
      os << " in elements";
  }
  for (const FactorRule::Gather &gather : rule.gathers)
    os << ", gathers a slab of result " << gather.result << " over "
       << factorName(gather.factor);
}

static void printRule(raw_ostream &os, const FactorRule &rule) {
  printTensors(os, rule.operands);
  os << " -> ";
  printTensors(os, rule.results);
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    os << ' ' << factorName(i) << '=' << factor.size
       << (factor.needsEvenSplit ? "(even)" : "");
  printKind(os, rule, FactorKind::Reduction, "reduces");
  printKind(os, rule, FactorKind::Replicated, "needs whole");
  for (ArrayRef<unsigned> set : rule.linearIn) {
    os << (set == ArrayRef(rule.linearIn.front()) ? ", linear in (" : " (");
    llvm::interleaveComma(set, os);
    os << ')';
  }
  printWindows(os, rule);
  if (rule.written)
    os << ", writes operand " << *rule.written;
}

namespace {

struct PrintFactorRules : shoal::impl::PrintFactorRulesBase<PrintFactorRules> {
  void runOnOperation() override {
    getOperation()->walk([](FactorRuleOpInterface op) {
      std::string text;
      llvm::raw_string_ostream os(text);
      printRule(os, op.getFactorRule());
      op->emitRemark(text);
    });
  }
};

} // namespace

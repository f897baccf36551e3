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

static void printKind(raw_ostream &os, const FactorRule &rule, FactorKind kind,
                      StringRef name) {
  SmallVector<std::string> names;
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != kind)
      continue;
    std::string text = factorName(i);
    if (factor.reduction)
      text += ":" + stringifyReduceKind(*factor.reduction).str();
    names.push_back(text);
  }
  if (!names.empty())
    os << ' ' << name << "={" << llvm::join(names, ", ") << '}';
}

static void printRule(raw_ostream &os, const FactorRule &rule) {
  printTensors(os, rule.operands);
  os << " -> ";
  printTensors(os, rule.results);
  os << " {";
  llvm::interleaveComma(llvm::enumerate(rule.factors), os, [&](auto entry) {
    os << factorName(entry.index()) << '=' << entry.value().size;
    if (entry.value().needsEvenSplit)
      os << "(even)";
  });
  os << '}';
  printKind(os, rule, FactorKind::Reduction, "reduction");
  printKind(os, rule, FactorKind::Replicated, "replicated");
  if (rule.linearIn.empty())
    return;
  os << " linear={";
  llvm::interleaveComma(rule.linearIn, os, [&](ArrayRef<unsigned> set) {
    os << '{';
    llvm::interleaveComma(set, os);
    os << '}';
  });
  os << '}';
}

namespace {

struct PrintFactorRules
    : shoal::impl::PrintFactorRulesBase<PrintFactorRules> {
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

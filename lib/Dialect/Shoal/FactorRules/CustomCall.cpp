// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "shoal/Dialect/Shoal/IR/CustomCallOps.h"
#include <map>

using namespace mlir;
using namespace shoal;

namespace {

/// Gives each letter its factor, and each `.` one of its own.
class LetterFactors {
public:
  LetterFactors(CustomCallOp op, FactorRule &rule) : op(op), rule(rule) {}

  DimFactors read(StringRef letters, Value value) {
    DimFactors dims;
    auto type = cast<RankedTensorType>(value.getType());
    for (auto [letter, size] : llvm::zip_equal(letters, type.getShape()))
      dims.push_back({factorOf(letter, size)});
    return dims;
  }

  /// A factor for each dimension of an operand, which its result has too.
  void readIdentity() {
    for (Value input : op.getInputs()) {
      DimFactors &dims = rule.operands.emplace_back();
      for (int64_t size : cast<RankedTensorType>(input.getType()).getShape()) {
        dims.push_back({unsigned(rule.factors.size())});
        rule.factors.push_back({size, FactorKind::Parallel, {}, false});
      }
    }
    rule.results = {rule.operands.begin(), rule.operands.end()};
    rule.linearIn.push_back(
        llvm::to_vector<2>(llvm::seq<unsigned>(op.getInputs().size())));
  }

  void setKinds(const CallRule &parts) {
    for (auto [letter, factor] : factors) {
      if (op.getPadded().value_or("").contains(letter))
        rule.factors[factor].needsEvenSplit = false;
      auto isIn = [letter = letter](StringRef part) {
        return part.contains(letter);
      };
      bool isRead = llvm::any_of(parts.operands, isIn);
      bool isMade = llvm::any_of(parts.results, isIn);
      if (isRead && isMade) {
        rule.factors[factor].kind = FactorKind::Parallel;
      } else if (op.getSums().value_or("").contains(letter)) {
        rule.factors[factor].kind = FactorKind::Reduction;
        rule.factors[factor].reduction = ReduceKind::Sum;
      }
    }
  }

private:
  unsigned factorOf(char letter, int64_t size) {
    unsigned next = rule.factors.size();
    if (letter != '.') {
      auto [entry, isNew] = factors.try_emplace(letter, next);
      if (!isNew)
        return entry->second;
    }
    Factor factor;
    factor.size = size;
    factor.kind = FactorKind::Replicated;
    factor.needsEvenSplit = true;
    rule.factors.push_back(factor);
    return next;
  }

  CustomCallOp op;
  FactorRule &rule;
  std::map<char, unsigned> factors;
};

struct CustomCall
    : FactorRuleOpInterface::ExternalModel<CustomCall, CustomCallOp> {
  static bool hasOwnLocalForm() { return true; }
  FactorRule getFactorRule(Operation *operation) const {
    auto op = cast<CustomCallOp>(operation);
    FactorRule rule;
    LetterFactors letters(op, rule);
    if (op.isIdentity()) {
      letters.readIdentity();
      return rule;
    }
    std::optional<CallRule> parts;
    if (op.getRule())
      parts = CallRule::parse(*op.getRule());
    auto lettersOf = [](const auto &list, unsigned i, Value value) {
      int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
      return list ? (*list)[i] : std::string(rank, '.');
    };
    std::optional<SmallVector<std::string>> reads, makes;
    if (parts)
      reads = parts->operands, makes = parts->results;
    for (auto [i, value] : llvm::enumerate(op.getInputs()))
      rule.operands.push_back(letters.read(lettersOf(reads, i, value), value));
    for (auto [i, value] : llvm::enumerate(op.getResults()))
      rule.results.push_back(letters.read(lettersOf(makes, i, value), value));
    if (parts)
      letters.setKinds(*parts);
    else
      rule.warning = "has no rule";
    return rule;
  }
};

} // namespace

void shoal::registerCustomCallFactorRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    CustomCallOp::attachInterface<CustomCall>(*context);
  });
}

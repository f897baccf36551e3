// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/CustomCallOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include <map>

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/CustomCallOps.cpp.inc"

std::optional<CallRule> CallRule::parse(StringRef text) {
  if (text.count("->") != 1)
    return std::nullopt;
  auto [operands, results] = text.split("->");
  CallRule rule;
  for (auto [list, parts] : {std::pair(operands, &rule.operands),
                             std::pair(results, &rule.results)}) {
    SmallVector<StringRef> pieces;
    list.split(pieces, ',');
    for (StringRef piece : pieces) {
      if (!llvm::all_of(piece,
                        [](char c) { return llvm::isAlpha(c) || c == '.'; }))
        return std::nullopt;
      parts->push_back(piece.str());
    }
  }
  return rule;
}

bool CustomCallOp::forwardsOperands() {
  return getTarget() == "Sharding" || getTarget() == "identity";
}

namespace {

/// Checks the parts of a rule against the tensors, sizes by letter.
class RuleVerifier {
public:
  explicit RuleVerifier(CustomCallOp op) : op(op) {}

  LogicalResult verify(StringRef kind, ArrayRef<std::string> parts,
                       ValueRange values) {
    bool isEmpty = values.empty() && parts.size() == 1 && parts[0].empty();
    if (!isEmpty && parts.size() != values.size()) // (K1)
      return op.emitOpError() << "rule: expected " << values.size() << ' '
                              << kind << "s but got " << parts.size();
    for (auto [i, value] : llvm::enumerate(values))
      if (failed(verifyTensor(kind, i, parts[i], tensorTypeOf(value))))
        return failure();
    return success();
  }

private:
  LogicalResult verifyTensor(StringRef kind, unsigned i, StringRef letters,
                             RankedTensorType type) {
    if (static_cast<int64_t>(letters.size()) != type.getRank()) // (K1)
      return op.emitOpError() << "rule: " << kind << ' ' << i << " has rank "
                              << type.getRank() << " but \"" << letters
                              << "\" has " << letters.size() << " letters";
    for (auto [dim, letter] : llvm::enumerate(letters)) { // (K2)
      if (letter == '.')
        continue;
      if (letters.count(letter) > 1)
        return op.emitOpError() << "rule: letter '" << letter
                                << "' occurs twice in " << kind << ' ' << i;
      auto [size, isNew] = sizes.try_emplace(letter, type.getDimSize(dim));
      if (size->second != type.getDimSize(dim))
        return op.emitOpError()
               << kind << ' ' << i << " dim " << dim << ": letter '" << letter
               << "' has size " << type.getDimSize(dim) << " here and "
               << size->second << " elsewhere";
    }
    return success();
  }

  CustomCallOp op;
  std::map<char, int64_t> sizes;
};

} // namespace

static bool occursIn(ArrayRef<std::string> parts, char letter) {
  return llvm::any_of(parts,
                      [&](StringRef part) { return part.contains(letter); });
}

LogicalResult CustomCallOp::verify() {
  if (getNumResults() == 0) // (K1)
    return emitOpError("expected at least one result");
  if (failed(verifyCustomCall(*this, getTarget(), // (K5)
                              getConfig().value_or(""))))
    return failure();
  if (isIdentity() && getInputs().getTypes() != getResultTypes()) // (K4)
    return emitOpError() << "target \"" << getTarget()
                         << "\": expected results of the operands' types";
  if (!getRule()) {
    if (getSums())
      return emitOpError("sums: expected a rule beside it");
    if (getPadded()) // (K6)
      return emitOpError("padded: expected a rule beside it");
    return success();
  }
  std::optional<CallRule> rule = CallRule::parse(*getRule());
  if (!rule)
    return emitOpError() << "rule: expected letters and '.', ',' and one '->' "
                            "but got \""
                         << *getRule() << '"';
  RuleVerifier verifier(*this);
  if (failed(verifier.verify("operand", rule->operands, getInputs())) ||
      failed(verifier.verify("result", rule->results, getResults())))
    return failure();
  for (char letter : getSums().value_or("")) // (K3)
    if (!occursIn(rule->operands, letter) || occursIn(rule->results, letter))
      return emitOpError() << "sums: expected a letter of operands alone but "
                              "got '"
                           << letter << '\'';
  for (char letter : getPadded().value_or("")) // (K6)
    if (letter == '.' || !occursIn(rule->operands, letter) ||
        !(occursIn(rule->results, letter) ||
          getSums().value_or("").contains(letter)))
      return emitOpError() << "padded: expected a letter of operands that is "
                              "in results or in sums but got '"
                           << letter << '\'';
  return success();
}

// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shoal;

static bool readLetters(llvm::StringRef term, llvm::SmallVectorImpl<char> &out,
                        std::string &error) {
  for (char c : term) {
    if (!llvm::isAlpha(c)) {
      error =
          llvm::formatv("expected letters in \"{0}\" but got '{1}'", term, c);
      return false;
    }
    out.push_back(c);
  }
  return true;
}

std::optional<EinsumSpec> EinsumSpec::parse(llvm::StringRef spec,
                                            std::string &error) {
  auto [inputs, result] = spec.split("->");
  if (!spec.contains("->") || result.contains("->")) {
    error = "expected one \"->\" between operands and result";
    return std::nullopt;
  }
  EinsumSpec parsed;
  llvm::SmallVector<llvm::StringRef, 2> terms;
  inputs.split(terms, ',');
  for (llvm::StringRef term : terms)
    if (!readLetters(term, parsed.inputs.emplace_back(), error))
      return std::nullopt;
  if (!readLetters(result, parsed.result, error))
    return std::nullopt;
  return parsed;
}

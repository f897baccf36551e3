// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

/// Of a function that is the identity, with a rule that says so or with none.
static bool makeCustomCall(ProgramBuilder &p) {
  SmallVector<Known> operands = p.anyValues();
  SmallVector<NamedAttribute> attributes{
      p.builder.getNamedAttr("target", p.builder.getStringAttr("identity"))};
  if (p.choices.chance(75)) {
    std::string terms;
    char letter = 'a';
    for (auto [i, operand] : llvm::enumerate(operands)) {
      terms += i == 0 ? "" : ",";
      for (int64_t dim = 0; dim < operand.type().getRank(); ++dim)
        terms += p.choices.chance(20) ? '.' : letter++;
    }
    attributes.push_back(p.builder.getNamedAttr(
        "rule", p.builder.getStringAttr(terms + "->" + terms)));
  }
  return p.addIdentity("shoal.custom_call", operands, attributes);
}

void shoal::fuzz::addCustomCallGenerators(Generators &generators) {
  generators.add("shoal.custom_call", makeCustomCall, 4);
}

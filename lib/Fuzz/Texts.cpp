// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Texts.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace shoal::fuzz;

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

/// Whether they differ in no more than what is not printed.
static LogicalResult compareTexts(Operation *module, StringRef text,
                                  Operation *parsed) {
  std::string again = print(parsed);
  // A resource gets another name when its name is taken.
  if (again == text || text.contains("dense_resource"))
    return success();
  SmallVector<StringRef> was, is;
  text.split(was, '\n');
  StringRef(again).split(is, '\n');
  for (auto [a, b] : llvm::zip(was, is))
    if (a != b)
      return emitError(module->getLoc(), "printed as ")
             << a << "\nbut after parsing as " << b;
  return emitError(module->getLoc(),
                   "has another number of lines after parsing");
}

LogicalResult RoundTrips::check(Operation *module) {
  std::string text = print(module);
  if (text == last)
    return success();
  auto parsed = parseSourceString<ModuleOp>(text, module->getContext());
  if (!parsed)
    return failure();
  // Printing takes as long as parsing.
  if (!OperationEquivalence::isEquivalentTo(
          module, *parsed, OperationEquivalence::IgnoreLocations) &&
      failed(compareTexts(module, text, *parsed)))
    return failure();
  last = std::move(text);
  return success();
}

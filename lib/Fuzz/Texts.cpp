// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Texts.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

LogicalResult shoal::fuzz::checkRoundTrip(Operation *module) {
  std::string text = print(module);
  auto parsed = parseSourceString<ModuleOp>(text, module->getContext());
  if (!parsed)
    return failure();
  std::string again = print(*parsed);
  // A resource gets another name when its name is taken.
  if (again == text || text.find("dense_resource") != std::string::npos)
    return success();
  SmallVector<StringRef> was, is;
  StringRef(text).split(was, '\n');
  StringRef(again).split(is, '\n');
  for (auto [a, b] : llvm::zip(was, is))
    if (a != b)
      return emitError(module->getLoc(), "printed as ")
             << a << "\nbut after parsing as " << b;
  return emitError(module->getLoc(),
                   "has another number of lines after parsing");
}

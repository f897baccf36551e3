// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

using namespace mlir;
using namespace shoal;

static std::string withName(std::string text, Attribute name) {
  if (auto string = dyn_cast_or_null<StringAttr>(name))
    text += " \"" + string.str() + "\"";
  return text;
}

std::string shoal::describeArgument(FunctionOpInterface function,
                                    unsigned index) {
  return withName("argument " + std::to_string(index),
                  function.getArgAttr(index, kNameAttr));
}

std::string shoal::describeResult(FunctionOpInterface function,
                                  unsigned index) {
  return withName("result " + std::to_string(index),
                  function.getResultAttr(index, kNameAttr));
}

std::string shoal::describePlace(Operation *op, StringRef kind,
                                 unsigned index) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function && kind == "argument")
    return describeArgument(function, index);
  if (function && kind == "result")
    return describeResult(function, index);
  return (kind + " " + Twine(index)).str();
}

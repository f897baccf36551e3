// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Check.h"
#include "llvm/ADT/StringExtras.h"

using namespace shoal::fuzz;

/// Numbers become #, what stands in quotes or angle brackets goes away.
static std::string generalized(llvm::StringRef text) {
  std::string result;
  int depth = 0;
  bool isQuoted = false;
  for (char c : text.take_front(400)) {
    if (c == '"')
      isQuoted = !isQuoted;
    else if (c == '<')
      ++depth;
    else if (c == '>' && depth > 0)
      --depth;
    else if (isQuoted || depth > 0)
      continue;
    else if (!llvm::isDigit(c))
      result += c == '\n' ? ' ' : c;
    else if (result.empty() || result.back() != '#')
      result += '#';
  }
  return result;
}

std::string Finding::signature() const {
  // Whatever the results were.
  if (llvm::StringRef(stage).starts_with("compare"))
    return stage + (message.find("got nan") != std::string::npos
                        ? ": padding reaches a result"
                        : ": results differ");
  return stage + ": " + generalized(llvm::StringRef(message).split('\n').first);
}

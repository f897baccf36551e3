// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Import/Nesting.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace shoal;

/// The place behind the string that begins at `place`; the lexer of MLIR knows
/// none of several lines.
static size_t skipString(StringRef text, size_t place) {
  for (++place; place < text.size(); ++place)
    if (text[place] == '\\')
      ++place;
    else if (text[place] == '"' || text[place] == '\n')
      return place + 1;
  return text.size();
}

/// The place behind what has no brackets though it may look so: strings,
/// comments, arrows. The same place where there is none of these.
static size_t skipOthers(StringRef text, size_t place) {
  if (text[place] == '"')
    return skipString(text, place);
  StringRef rest = text.drop_front(place);
  if (rest.starts_with("//"))
    return std::min(text.find('\n', place), text.size());
  return rest.starts_with("->") ? place + 2 : place;
}

/// Closes the innermost bracket of the kind, and what was left open in it: "<"
/// is also a comparison. Nothing where there is no such bracket.
static void close(SmallVectorImpl<char> &open, char bracket) {
  if (bracket == '<' && !open.empty() && open.back() != '<')
    return; // ">" is a comparison, too
  auto found = llvm::find(llvm::reverse(open), bracket);
  if (found != open.rend())
    open.truncate(open.size() - 1 - (found - open.rbegin()));
}

/// The place of the first bracket too many; npos where there is none.
static size_t findTooDeep(StringRef text) {
  SmallVector<char, 64> open;
  for (size_t place = 0; place < text.size();) {
    if (size_t next = skipOthers(text, place); next != place) {
      place = next;
      continue;
    }
    constexpr StringRef opening = "([{<", closing = ")]}>";
    if (opening.contains(text[place]))
      open.push_back(text[place]);
    else if (size_t kind = closing.find(text[place]); kind != StringRef::npos)
      close(open, opening[kind]);
    if (open.size() > kMaxNesting)
      return place;
    ++place;
  }
  return StringRef::npos;
}

LogicalResult shoal::verifyNesting(llvm::MemoryBufferRef text,
                                   MLIRContext *context) {
  if (isBytecode(text))
    return success();
  size_t place = findTooDeep(text.getBuffer());
  if (place == StringRef::npos)
    return success();
  StringRef before = text.getBuffer().take_front(place);
  auto loc = FileLineColLoc::get(context, text.getBufferIdentifier(),
                                 before.count('\n') + 1,
                                 place - (before.rfind('\n') + 1) + 1);
  return emitError(loc) << "nests deeper than " << kMaxNesting << " brackets";
}

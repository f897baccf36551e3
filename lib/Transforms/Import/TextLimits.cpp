// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Import/TextLimits.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Brackets
//===----------------------------------------------------------------------===//

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

/// The place behind a character, or behind what `skipOthers` skips. Keeps the
/// brackets that are open there.
static size_t goOn(StringRef text, size_t place, SmallVectorImpl<char> &open) {
  if (size_t next = skipOthers(text, place); next != place)
    return next;
  constexpr StringRef opening = "([{<", closing = ")]}>";
  if (opening.contains(text[place]))
    open.push_back(text[place]);
  else if (size_t kind = closing.find(text[place]); kind != StringRef::npos)
    close(open, opening[kind]);
  return place + 1;
}

/// The place of the first bracket too many; npos where there is none.
static size_t findTooDeep(StringRef text) {
  SmallVector<char, 64> open;
  for (size_t place = 0; place < text.size();) {
    size_t next = goOn(text, place, open);
    if (open.size() > kMaxNesting)
      return place;
    place = next;
  }
  return StringRef::npos;
}

/// What follows the first of these characters that is in no bracket; nothing
/// where there is none.
static StringRef behindFirst(StringRef text, char wanted) {
  SmallVector<char> open;
  for (size_t place = 0; place < text.size(); place = goOn(text, place, open))
    if (open.empty() && text[place] == wanted)
      return text.drop_front(place + 1);
  return {};
}

//===----------------------------------------------------------------------===//
// Numbers of values
//===----------------------------------------------------------------------===//

namespace {

/// How many values a text speaks of as `%name#number`, at least.
class NumberedValues {
public:
  /// Of the number behind the name.
  void add(StringRef name, StringRef number) {
    uint64_t value = 0;
    if (number.getAsInteger(10, value))
      return; // the parser says that it is too long
    uint64_t &most = values[name];
    count += std::max(most, value) - most;
    most = std::max(most, value);
  }
  uint64_t size() const { return count; }

private:
  llvm::StringMap<uint64_t> values;
  uint64_t count = 0;
};

} // namespace

static StringRef takeName(StringRef text) {
  return text.take_while(
      [](char c) { return llvm::isAlnum(c) || StringRef("_$.-").contains(c); });
}

/// The place of the first number by which a text speaks of more values than it
/// has characters; npos where there is none.
static size_t findTooManyValues(StringRef text) {
  NumberedValues values;
  StringRef name; // of the value that was read last, if nothing followed yet
  for (size_t place = 0; place < text.size();) {
    StringRef rest = text.drop_front(place);
    if (size_t next = skipOthers(text, place); next != place) {
      if (!rest.starts_with("//"))
        name = {};
      place = next;
    } else if (rest[0] == '%') {
      name = takeName(rest.drop_front());
      place += 1 + name.size();
    } else if (rest[0] == '#' && !name.empty()) {
      StringRef number = rest.drop_front().take_while(llvm::isDigit);
      values.add(std::exchange(name, {}), number);
      if (values.size() > text.size())
        return place;
      place += 1 + number.size();
    } else {
      if (!llvm::isSpace(rest[0]))
        name = {};
      ++place;
    }
  }
  return StringRef::npos;
}

//===----------------------------------------------------------------------===//
// Types that make the parser die, or work without end
//===----------------------------------------------------------------------===//

/// The place of the first name with something wrong behind it; npos where there
/// is none. An op's name is a string in its generic form.
static size_t
findName(StringRef text,
         function_ref<bool(StringRef name, StringRef behind)> isWrong) {
  for (size_t place = 0; place < text.size();) {
    StringRef name = takeName(text.drop_front(place));
    size_t next = skipOthers(text, place);
    if (text[place] == '"' &&
        isWrong(text.slice(place + 1, next - 1), text.drop_front(next)))
      return place;
    if (next == place)
      next += std::max<size_t>(name.size(), 1);
    if (isWrong(name, text.drop_front(next)))
      return place;
    place = next;
  }
  return StringRef::npos;
}

/// Takes the token off the front of the text, and what separates it from the
/// one before.
static bool consumeToken(StringRef &text, StringRef token) {
  for (text = text.ltrim(); text.starts_with("//"); text = text.ltrim())
    text = text.drop_front(skipOthers(text, 0));
  return text.consume_front(token);
}

static bool isArrayOfIndices(StringRef name, StringRef behind) {
  return name == "array" && consumeToken(behind, "<") &&
         consumeToken(behind, "index") && takeName(behind).empty();
}

/// What stands behind `!name =` in a text, by name.
static llvm::StringMap<StringRef> listNamedTypes(StringRef text) {
  llvm::StringMap<StringRef> types;
  for (size_t place = 0; place < text.size();) {
    size_t next = std::max(skipOthers(text, place), place + 1);
    if (text[place] == '!') {
      StringRef name = takeName(text.drop_front(next));
      StringRef behind = text.drop_front(next + name.size());
      if (consumeToken(behind, "="))
        types.try_emplace(name, behind);
    }
    place = next;
  }
  return types;
}

/// Of which parsers and verifiers of MLIR list each element.
static constexpr StringRef kListingOps[] = {
    "tensor.from_elements", "vector.from_elements", "vector.to_elements"};

/// How many elements the type of such an op has, by what stands behind the
/// op's name; 0 where its dimensions do not say so.
static uint64_t countElements(StringRef behindOp,
                              const llvm::StringMap<StringRef> &named) {
  StringRef type = behindFirst(behindOp, ':');
  if (consumeToken(type, "(")) { // of the generic form: (i32) -> tensor<1xi32>
    type = behindFirst(type, ')');
    consumeToken(type, "->");
    consumeToken(type, "(");
  }
  // One name may stand for another one that was defined before.
  for (size_t i = 0; i <= named.size() && consumeToken(type, "!"); ++i)
    type = named.lookup(takeName(type));
  if (!(consumeToken(type, "tensor") || consumeToken(type, "vector")) ||
      !consumeToken(type, "<"))
    return 0;
  uint64_t elements = 1, size = 0;
  bool isShaped = false;
  for (; consumeToken(type, "") && !type.consumeInteger(10, size) &&
         consumeToken(type, "x");
       isShaped = true)
    elements = llvm::SaturatingMultiply(elements, size);
  return isShaped ? elements : 0;
}

/// An error at a place of the text.
static InFlightDiagnostic emitErrorAt(llvm::MemoryBufferRef text, size_t place,
                                      MLIRContext *context) {
  StringRef before = text.getBuffer().take_front(place);
  return emitError(FileLineColLoc::get(context, text.getBufferIdentifier(),
                                       before.count('\n') + 1,
                                       place - (before.rfind('\n') + 1) + 1));
}

LogicalResult shoal::verifyText(llvm::MemoryBufferRef text,
                                MLIRContext *context) {
  if (isBytecode(text))
    return success();
  if (size_t place = findTooDeep(text.getBuffer()); place != StringRef::npos)
    return emitErrorAt(text, place, context)
           << "nests deeper than " << kMaxNesting << " brackets";
  if (size_t place = findTooManyValues(text.getBuffer());
      place != StringRef::npos)
    return emitErrorAt(text, place, context)
           << "value numbers up to here ask for more values than the text has "
              "characters, "
           << text.getBufferSize();
  if (size_t place = findName(text.getBuffer(), isArrayOfIndices);
      place != StringRef::npos)
    return emitErrorAt(text, place, context)
           << "an array's elements are integers or floats, not index";
  StringRef op; // the last one that lists elements
  std::optional<llvm::StringMap<StringRef>> named;
  auto listsTooMany = [&](StringRef name, StringRef behind) {
    if (!llvm::is_contained(kListingOps, name))
      return false;
    if (!named)
      named = listNamedTypes(text.getBuffer());
    op = name;
    return countElements(behind, *named) > text.getBufferSize();
  };
  if (size_t place = findName(text.getBuffer(), listsTooMany);
      place != StringRef::npos)
    return emitErrorAt(text, place, context)
           << "'" << op << "' op has a type of more elements than the text has "
           << "characters, " << text.getBufferSize();
  return success();
}

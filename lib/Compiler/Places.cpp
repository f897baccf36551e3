// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Places.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;
using namespace shoal;

/// Takes `:12` off the front.
static std::optional<uint64_t> takeNumber(StringRef &rest) {
  StringRef after = rest;
  uint64_t number = 0;
  if (!after.consume_front(":") || after.consumeInteger(10, number))
    return std::nullopt;
  rest = after;
  return number;
}

//===----------------------------------------------------------------------===//
// A program's places
//===----------------------------------------------------------------------===//

namespace {

/// Goes through a text's strings; comments and what is between them are copied.
class Separator {
public:
  explicit Separator(StringRef program) : rest(program) {}

  PlacedText run() {
    while (!rest.empty())
      step();
    return std::move(made);
  }

private:
  void step();
  void takeString();
  void copy(size_t count) {
    made.text += rest.take_front(count);
    rest = rest.drop_front(count);
  }
  unsigned numberOf(const Place &place);

  StringRef rest;
  PlacedText made;
  std::map<std::tuple<std::string, uint64_t, uint64_t>, unsigned> numbers;
};

} // namespace

void Separator::step() {
  if (rest.starts_with("//"))
    return copy(std::min(rest.find('\n'), rest.size()));
  if (rest.front() == '"')
    return takeString();
  size_t next = rest.find_first_of("\"/", /*From=*/1);
  copy(std::min(next, rest.size()));
}

/// How long the string is that the text begins with; strings end with their
/// line at the latest.
static size_t stringLength(StringRef text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

void Separator::takeString() {
  size_t length = stringLength(rest);
  StringRef file = rest.slice(1, length - 1), after = rest.drop_front(length);
  std::optional<uint64_t> line = takeNumber(after);
  std::optional<uint64_t> column = line ? takeNumber(after) : std::nullopt;
  if (!column || file.contains('\\'))
    return copy(length);
  // '$' begins no token that a place could be followed by.
  made.text += '$';
  made.text += llvm::utostr(numberOf({file.str(), *line, *column}));
  rest = after;
}

unsigned Separator::numberOf(const Place &place) {
  auto [found, isNew] = numbers.try_emplace(
      {place.file, place.line, place.column}, made.places.size());
  if (isNew)
    made.places.push_back(place);
  return found->second;
}

PlacedText shoal::separatePlaces(StringRef program) {
  return Separator(program).run();
}

//===----------------------------------------------------------------------===//
// Places as a text
//===----------------------------------------------------------------------===//

std::string shoal::printPlaces(ArrayRef<Place> places) {
  llvm::json::Array list;
  for (const Place &place : places) {
    list.push_back(place.file);
    list.push_back(static_cast<int64_t>(place.line));
    list.push_back(static_cast<int64_t>(place.column));
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(list));
  return text;
}

static std::optional<Place> readPlace(ArrayRef<llvm::json::Value> fields) {
  auto file = fields[0].getAsString();
  auto line = fields[1].getAsInteger(), column = fields[2].getAsInteger();
  if (!file || !line || !column)
    return std::nullopt;
  return Place{file->str(), static_cast<uint64_t>(*line),
               static_cast<uint64_t>(*column)};
}

std::optional<SmallVector<Place>> shoal::parsePlaces(StringRef text) {
  auto value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Array *list = value->getAsArray();
  if (!list || list->size() % 3 != 0)
    return std::nullopt;
  SmallVector<Place> places;
  for (size_t i = 0; i < list->size(); i += 3) {
    std::optional<Place> place = readPlace(ArrayRef(&(*list)[i], 3));
    if (!place)
      return std::nullopt;
    places.push_back(std::move(*place));
  }
  return places;
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

namespace {

/// A mention of a place: its numbers, as they are spelled, behind the text that
/// ends with the file's name, or its last part.
struct Mention {
  uint64_t line;
  std::optional<uint64_t> column;
  StringRef front, spelled;
};

class Mover {
public:
  Mover(ArrayRef<Place> from, ArrayRef<Place> to) : from(from), to(to) {
    for (auto [i, place] : llvm::enumerate(from))
      byLine[place.line].push_back(i);
  }

  std::optional<std::string> run(StringRef text);

private:
  bool move(const Mention &mention);
  std::optional<std::string> replace(const Mention &mention, StringRef quote,
                                     bool isWhole, size_t &length);

  ArrayRef<Place> from, to;
  llvm::DenseMap<uint64_t, SmallVector<unsigned>> byLine;
  std::string made;
};

} // namespace

static StringRef lastPart(StringRef file) {
  return llvm::sys::path::filename(file);
}

/// Whether a name that the text ends with begins there.
static bool endsWithName(StringRef text, StringRef name) {
  if (name.empty() || !text.ends_with(name))
    return false;
  StringRef front = text.drop_back(name.size());
  return front.empty() || !(llvm::isAlnum(front.back()) ||
                            StringRef("/_-.").contains(front.back()));
}

/// What stands for the mention's file and numbers; empty where it is no place.
/// length: of the file's name in front.
std::optional<std::string> Mover::replace(const Mention &mention,
                                          StringRef quote, bool isWhole,
                                          size_t &length) {
  std::optional<std::string> found = std::string();
  for (unsigned i : byLine.lookup(mention.line)) {
    auto name = [&](const Place &place) {
      return isWhole ? StringRef(place.file) : lastPart(place.file);
    };
    if ((mention.column && *mention.column != from[i].column) ||
        !endsWithName(mention.front, name(from[i])))
      continue;
    std::string now = (name(to[i]) + quote + ":" + llvm::Twine(to[i].line) +
                       (mention.column ? ":" + llvm::Twine(to[i].column).str()
                                       : std::string()))
                          .str();
    if (!found->empty() && *found != now)
      return std::nullopt;
    length = name(from[i]).size();
    found = std::move(now);
  }
  return found;
}

/// Writes the mention, whose file the text that is made ends with.
bool Mover::move(const Mention &mention) {
  StringRef front = mention.front;
  StringRef quote;
  for (StringRef end : {"\\\"", "\""})
    if (quote.empty() && front.ends_with(end))
      quote = end;
  Mention bare = mention;
  bare.front = front.drop_back(quote.size());
  for (bool isWhole : {true, false}) {
    size_t length = 0;
    std::optional<std::string> now = replace(bare, quote, isWhole, length);
    if (!now)
      return false;
    if (now->empty())
      continue;
    made.resize(made.size() - quote.size() - length);
    made += *now;
    return true;
  }
  made += mention.spelled;
  return true;
}

std::optional<std::string> Mover::run(StringRef text) {
  while (!text.empty()) {
    size_t colon = std::min(text.find(':'), text.size());
    made += text.take_front(colon);
    text = text.drop_front(colon);
    StringRef after = text;
    std::optional<uint64_t> line = takeNumber(after);
    if (!line || !byLine.count(*line)) {
      made += text.take_front(1);
      text = text.drop_front(std::min<size_t>(1, text.size()));
      continue;
    }
    std::optional<uint64_t> column = takeNumber(after);
    if (!move({*line, column, made, text.drop_back(after.size())}))
      return std::nullopt;
    text = after;
  }
  return std::move(made);
}

std::optional<std::string>
shoal::movePlaces(StringRef text, ArrayRef<Place> from, ArrayRef<Place> to) {
  if (from.size() != to.size())
    return std::nullopt;
  if (from == to)
    return text.str();
  return Mover(from, to).run(text);
}
